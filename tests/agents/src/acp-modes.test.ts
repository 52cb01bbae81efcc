import { describe, expect, it } from 'vitest'
import { acpSession, type AcpSessionOptions } from './acp-session.js'

const codexAcp = '@agentclientprotocol/codex-acp'
const codexModes = ['agent', 'read-only', 'workspace-write', 'agent-full-access']

async function startedMode(options: AcpSessionOptions) {
  const session = await acpSession(options)
  await session.say('which mode')
  await session.until('turn_ended')
  const [{ text } = { text: '' }] = await session.of('text')
  const notices = (await session.of('error')).map(({ code, message, fatal }) => ({ code, message, fatal }))
  await session.close()
  return { said: text, notices }
}

const notice = (message: string) => [{ code: 'agent_decides', message, fatal: false }]

describe.concurrent('the mode that an agent starts in', () => {
  it('is one that asks a person, although codex-acp would start in one that asks a model', async () => {
    const { said, notices } = await startedMode({ like: { name: codexAcp, modes: codexModes } })
    expect(said).toBe('I am in workspace-write.')
    expect(notices).toEqual([])
  })

  it('is set by a configuration option if the agent has no modes', async () => {
    const like = { name: codexAcp, modes: codexModes, by: 'configOptions' as const }
    expect((await startedMode({ like })).said).toBe('I am in workspace-write.')
  })

  it('is the one that the configuration names', async () => {
    const { said } = await startedMode({
      like: { name: codexAcp, modes: codexModes },
      agent: { mode: 'read-only' },
    })
    expect(said).toBe('I am in read-only.')
  })

  it('stays the agent’s own if no other mode is known to ask', async () => {
    const { said, notices } = await startedMode({ like: { modes: ['careful', 'yolo'] } })
    expect(said).toBe('I am in careful.')
    expect(notices).toEqual([])
  })

  it('is replaced by plan mode, and restored after it', async () => {
    const session = await acpSession({
      mode: 'plan',
      like: { modes: ['build', 'plan'], by: 'configOptions' },
    })
    await session.say('which mode')
    await session.until('turn_ended')
    await session.host.as({ by: { id: 'me' }, via: 'direct' }).setPermissionMode(session.sessionId, 'default')
    await session.say('which mode')
    await session.until('turn_ended', 2)
    expect((await session.of('text')).map(({ text }) => text)).toEqual(['I am in plan.', 'I am in build.'])
    await session.close()
  })
})

describe.concurrent('an agent that decides alone', () => {
  it('is reported if a model approves what it does', async () => {
    const { notices } = await startedMode({
      like: { name: codexAcp, modes: codexModes },
      agent: { mode: 'agent' },
    })
    expect(notices).toEqual(
      notice('Scripted decides by itself in its mode “agent”: a model approves what it does, not you.'),
    )
  })

  it('is reported if it asks nobody', async () => {
    const { notices } = await startedMode({ like: { modes: ['bypassPermissions'] } })
    expect(notices).toEqual(
      notice(
        'Scripted decides by itself in its mode “bypassPermissions”: it asks nobody before it runs commands or edits files.',
      ),
    )
  })

  it('is reported if its own configuration decides', async () => {
    const { notices } = await startedMode({
      like: { name: 'OpenCode', modes: ['build', 'plan'], by: 'configOptions' },
    })
    expect(notices).toEqual(
      notice(
        'Scripted decides by itself what to ask: it runs commands and edits files without asking you, unless its own configuration says “ask”.',
      ),
    )
  })

  it('is reported once if it changes its mode by itself', async () => {
    const session = await acpSession({ like: { modes: ['default', 'yolo'] } })
    await session.say('go wild')
    await session.until('turn_ended')
    await session.say('go wild')
    await session.until('turn_ended', 2)
    expect(await session.of('error')).toMatchObject([{ code: 'agent_decides' }])
    expect((await session.host.desk.snapshot(session.sessionId)).session).toMatchObject({
      decidesAlone: true,
    })
    await session.close()
    // The next process starts in a mode that asks, and says so because the log has the notice of this one.
    const later = await acpSession({ like: { modes: ['default', 'yolo'] }, before: session })
    await later.say('which mode')
    await later.until('turn_ended', 3)
    expect((await later.of('error')).at(-1)).toMatchObject({ code: 'agent_asks', fatal: false })
    expect((await later.host.desk.snapshot(later.sessionId)).session).not.toHaveProperty('decidesAlone')
    await later.close()
  })

  it('is reported if it refuses the mode that asks', async () => {
    const { said, notices } = await startedMode({ like: { name: 'stubborn', modes: ['yolo', 'default'] } })
    expect(said).toBe('I am in yolo.')
    expect(notices).toMatchObject([{ code: 'agent_decides' }])
  })
})
