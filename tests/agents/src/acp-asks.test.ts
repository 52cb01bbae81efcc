import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { digestOf, type ApprovalRequest } from '@askback/protocol'
import { acpSession } from './acp-session.js'
import { me } from './agent-session.js'
import { eventually } from './eventually.js'
import { isAlive, programsOf } from './processes.js'

describe.concurrent('permission', () => {
  it('shows the diff, and is given once only, whatever the agent offers', async () => {
    const session = await acpSession()
    await session.say('make a file')
    const [item] = await session.pending()
    const path = join(session.cwd, 'made.txt')
    expect(item).toMatchObject({ kind: 'approval', toolName: 'edit' })
    expect(item!.request as ApprovalRequest).toMatchObject({
      input: { path, text: 'made\n' },
      title: 'Write made.txt',
      preview: { diffs: [{ path, oldText: '', newText: 'made\n' }] },
    })
    await session.answer(item!, { decision: 'approve', scope: 'session' })
    await session.until('turn_ended')
    expect((await session.of('tool_result'))[0]!.output).toContain('"optionId":"yes"')
    expect(existsSync(path)).toBe(true)
    await session.say('make a file')
    await session.until('turn_ended', 2)
    expect((await session.of('interaction_response'))[1]).toMatchObject({ via: 'policy' })
    await session.close()
  })

  it('about a call that the agent has not reported logs the call', async () => {
    const session = await acpSession()
    await session.say('make a file unannounced')
    const [item] = await session.pending()
    const [call] = await session.of('tool_call')
    expect(call).toMatchObject({ toolCallId: item!.toolCallId, toolName: 'edit' })
    await session.answer(item!, { decision: 'approve' })
    await session.until('turn_ended')
    expect(await session.of('tool_call')).toHaveLength(1)
    await session.close()
  })

  it('that is denied with a reason sends the reason to the agent as the next message of the turn', async () => {
    const session = await acpSession()
    await session.say('make a file')
    const [item] = await session.pending()
    await session.answer(item!, { decision: 'deny', message: 'use another name' })
    await session.until('turn_ended')
    expect((await session.of('text')).map(({ text }) => text).join('')).toContain('says: use another name')
    expect(await session.of('turn_started')).toHaveLength(1)
    await session.close()
  })

  it('in the mode acceptEdits is given for changes inside the folder', async () => {
    const session = await acpSession({ mode: 'acceptEdits' })
    await session.say('make a file')
    await session.until('turn_ended')
    expect((await session.of('interaction_response'))[0]).toMatchObject({ via: 'policy' })
    await session.close()
  })
})

describe.concurrent('permission if the agent offers only lasting options', () => {
  it('never chooses “always” for an approval: the call is cancelled, and card and log say why', async () => {
    const session = await acpSession()
    await session.say('make a file for good')
    const [item] = await session.pending()
    // Askback says so itself: what is in the request would be shown as words of the agent.
    expect(item).toMatchObject({ notes: ['only_always'] })
    expect((item!.request as ApprovalRequest).reason).toBeUndefined()
    await session.answer(item!, { decision: 'approve' })
    await session.until('turn_ended')
    expect((await session.of('tool_result'))[0]!.output).toBe('{"outcome":"cancelled"}')
    expect(existsSync(join(session.cwd, 'made.txt'))).toBe(false)
    const note =
      'Scripted offers only “always” for this call. Askback grants no more than you approve, so it cancelled the call.'
    expect(await session.of('error')).toMatchObject([
      { code: 'approval_unused', message: note, fatal: false },
    ])
    expect((await session.of('text')).map(({ text }) => text).join('')).toContain(
      'cannot be approved just once',
    )
    await session.close()
  })

  it('never chooses “never” for a denial', async () => {
    const session = await acpSession()
    await session.say('make a file for good')
    const [item] = await session.pending()
    await session.answer(item!, { decision: 'deny' })
    await session.until('turn_ended')
    expect((await session.of('tool_result'))[0]!.output).toBe('{"outcome":"cancelled"}')
    expect(await session.of('error')).toEqual([])
    await session.close()
  })
})

describe.concurrent('a call whose input comes in several updates', () => {
  const whole = (cwd: string) => ({ command: 'make all', description: 'Builds it', cwd })

  it('is logged with its whole input', async () => {
    const session = await acpSession()
    await session.say('run it in pieces')
    await session.until('turn_ended')
    expect(await session.of('tool_call')).toMatchObject([{ toolName: 'shell', input: whole(session.cwd) }])
    await session.close()
  })

  it('is shown with its whole input, though the request names only a part', async () => {
    const session = await acpSession()
    await session.say('run it in pieces and ask')
    const [item] = await session.pending()
    expect((item!.request as ApprovalRequest).input).toEqual(whole(session.cwd))
    expect(item!.digest).toBe(digestOf('shell', whole(session.cwd)))
    await session.answer(item!, { decision: 'approve' })
    await session.until('turn_ended')
    expect((await session.of('tool_result'))[0]!.output).toContain('"optionId":"yes"')
    await session.close()
  })

  it('[L11] is asked again if it changes while its request is pending', async () => {
    const session = await acpSession()
    await session.say('run it in pieces, changed while I ask')
    const [first] = await session.pending()
    expect((first!.request as ApprovalRequest).input).toEqual({ command: 'make', cwd: session.cwd })
    await writeFile(join(session.home, 'go-on'), '')
    await session.until('interaction_request', 2)
    const [item, ...more] = await session.pending()
    expect(more).toEqual([])
    expect((item!.request as ApprovalRequest).input).toEqual(whole(session.cwd))
    expect(await session.of('interaction_response')).toMatchObject([
      { settlement: 'superseded', supersededBy: item!.interactionId },
    ])
    await session.answer(item!, { decision: 'approve' })
    await session.until('turn_ended')
    expect((await session.of('tool_result'))[0]!.output).toContain('"optionId":"yes"')
    await session.close()
  })
})

describe.concurrent('elicitation', () => {
  it('is a form at its tool call', async () => {
    const session = await acpSession()
    await session.say('ask me')
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'form', toolCallId: (await session.of('tool_call'))[0]!.toolCallId })
    await session.answer(item!, { values: { nights: 3 } })
    await session.until('turn_ended')
    expect((await session.of('text'))[0]!.text).toContain('{"action":"accept","content":{"nights":3}}')
    await session.close()
  })

  it('of a page is a question whether the person has opened it', async () => {
    const session = await acpSession()
    await session.say('open a page')
    const [item] = await session.pending()
    expect(JSON.stringify(item!.request)).toContain('https://example.org/login')
    await session.answer(item!, { answers: [{ selected: ['Done'] }] })
    await session.until('turn_ended')
    expect((await session.of('text'))[0]!.text).toContain('accept')
    await session.close()
  })
})

describe.concurrent('a session', () => {
  it('shows the agent’s list of things to do', async () => {
    const session = await acpSession()
    await session.say('make a list')
    await session.until('turn_ended')
    expect((await session.of('tool_call'))[0]).toMatchObject({
      toolName: 'update_plan',
      input: { entries: [{ content: 'Think', status: 'in_progress' }] },
    })
    await session.close()
  })

  it('continues after a restart, without logging its history twice', async () => {
    const first = await acpSession()
    await first.say('say hello')
    await first.until('turn_ended')
    await first.close()
    const second = await acpSession({ before: first })
    await second.say('what do you know')
    await second.until('turn_ended', 2)
    expect((await second.of('text')).map(({ text }) => text)).toEqual([
      'Hello. What shall we do today?',
      'I know ["say hello","what do you know"].',
    ])
    await second.close()
  })

  it('starts over if the agent has lost the conversation', async () => {
    const first = await acpSession()
    await first.say('say hello')
    await first.until('turn_ended')
    await first.close()
    await writeFile(join(first.home, 'acp-sessions.json'), '{}')
    const second = await acpSession({ before: first })
    await second.say('say hello')
    await second.until('turn_ended', 2)
    expect((await second.of('error'))[0]!.message).toContain('lost the earlier conversation')
    await second.close()
  })

  it('leaves no process behind', async () => {
    const session = await acpSession()
    await session.say('make a file')
    await session.pending()
    const pids = programsOf(session.home)
    expect(pids.length).toBeGreaterThan(0)
    await session.host.as(me).deleteSession(session.sessionId)
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]))
    await session.close()
  })
})
