import { describe, expect, it } from 'vitest'
import { acpSession, type AcpSessionOptions } from './acp-session.js'

const codexAcp = '@agentclientprotocol/codex-acp'
const codexModes = ['agent', 'read-only', 'workspace-write', 'agent-full-access']

async function modeOf(options: AcpSessionOptions) {
  const session = await acpSession(options)
  await session.say('which mode')
  await session.until('turn_ended')
  const [{ text } = { text: '' }] = await session.of('text')
  const notes = (await session.of('error')).map(({ code, message, fatal }) => ({ code, message, fatal }))
  await session.close()
  return { said: text, notes }
}

const note = (message: string) => [{ code: 'agent_decides', message, fatal: false }]

describe.concurrent('the mode that an agent starts in', () => {
  it('is the one that asks a person: codex-acp would ask a model', async () => {
    const { said, notes } = await modeOf({ like: { name: codexAcp, modes: codexModes } })
    expect(said).toBe('I am in workspace-write.')
    expect(notes).toEqual([])
  })

  it('is set by the configuration options where the agent has no modes', async () => {
    const like = { name: codexAcp, modes: codexModes, by: 'configOptions' as const }
    expect((await modeOf({ like })).said).toBe('I am in workspace-write.')
  })

  it('is the one that the configuration names', async () => {
    const { said } = await modeOf({
      like: { name: codexAcp, modes: codexModes },
      agent: { mode: 'read-only' },
    })
    expect(said).toBe('I am in read-only.')
  })

  it('stays as it is where all that is known of it is that it asks', async () => {
    const { said, notes } = await modeOf({ like: { modes: ['careful', 'yolo'] } })
    expect(said).toBe('I am in careful.')
    expect(notes).toEqual([])
  })

  it('is left for planning, and taken up again after it', async () => {
    const session = await acpSession({
      mode: 'plan',
      like: { modes: ['build', 'plan'], by: 'configOptions' },
    })
    await session.say('which mode')
    await session.until('turn_ended')
    await session.host.setPermissionMode(session.sessionId, 'default', { by: { id: 'me' }, via: 'direct' })
    await session.say('which mode')
    await session.until('turn_ended', 2)
    expect((await session.of('text')).map(({ text }) => text)).toEqual(['I am in plan.', 'I am in build.'])
    await session.close()
  })
})

describe.concurrent('an agent that decides alone', () => {
  it('is marked where a model approves what it does', async () => {
    const { notes } = await modeOf({
      like: { name: codexAcp, modes: codexModes },
      agent: { mode: 'agent' },
    })
    expect(notes).toEqual(
      note('Scripted decides by itself in its mode “agent”: a model approves what it does, not you.'),
    )
  })

  it('is marked where it asks nobody', async () => {
    const { notes } = await modeOf({ like: { modes: ['bypassPermissions'] } })
    expect(notes).toEqual(
      note(
        'Scripted decides by itself in its mode “bypassPermissions”: it asks nobody before it runs commands or edits files.',
      ),
    )
  })

  it('is marked where its own configuration decides', async () => {
    const { notes } = await modeOf({
      like: { name: 'OpenCode', modes: ['build', 'plan'], by: 'configOptions' },
    })
    expect(notes).toEqual(
      note(
        'Scripted decides by itself what to ask: it runs commands and edits files without asking you, unless its own configuration says “ask”.',
      ),
    )
  })

  it('is marked when it changes its mode by itself, once', async () => {
    const session = await acpSession({ like: { modes: ['default', 'yolo'] } })
    await session.say('go wild')
    await session.until('turn_ended')
    await session.say('go wild')
    await session.until('turn_ended', 2)
    expect(await session.of('error')).toMatchObject([{ code: 'agent_decides' }])
    await session.close()
  })

  it('is marked where it refuses to take the mode that asks', async () => {
    const { said, notes } = await modeOf({ like: { name: 'stubborn', modes: ['yolo', 'default'] } })
    expect(said).toBe('I am in yolo.')
    expect(notes).toMatchObject([{ code: 'agent_decides' }])
  })
})
