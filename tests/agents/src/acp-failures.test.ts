import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { acpAgent } from '@askback/agents/acp'
import { acpSession } from './acp-session.js'
import { me, sayHello } from './agent-session.js'
import { eventually } from './eventually.js'
import { killAtOnce, programsOf } from './processes.js'

type Session = Awaited<ReturnType<typeof acpSession>>

/** The answer to the agent's request, which the agent has written to a file. */
const outcome = async ({ home }: Session): Promise<unknown> =>
  JSON.parse(await readFile(join(home, 'outcome.json'), 'utf8').catch(() => 'null'))

describe.concurrent('a request without an answer', () => {
  it('is cancelled for the agent when its turn is interrupted', async () => {
    const session = await acpSession()
    await session.say('make a file')
    await session.pending()
    await session.host.as(me).interrupt(session.sessionId)
    expect(await session.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
    expect(await session.of('interaction_response')).toMatchObject([{ settlement: 'cancelled' }])
    await eventually(async () => expect(await outcome(session)).toEqual({ outcome: 'cancelled' }))
    await sayHello(session, 2)
    await session.close()
  })

  it('is cancelled if the agent offers no option to refuse', async () => {
    const session = await acpSession()
    await session.say('make a file, no way back')
    const [item] = await session.pending()
    await session.answer(item!, { decision: 'deny' })
    await session.until('turn_ended')
    expect(await outcome(session)).toEqual({ outcome: 'cancelled' })
    await session.close()
  })

  it('with a form is cancelled, not accepted or declined', async () => {
    const session = await acpSession()
    await session.say('ask me')
    const [item] = await session.pending()
    await session.host.desk
      .as(me)
      .cancel({ sessionId: session.sessionId, interactionId: item!.interactionId })
    await session.until('turn_ended')
    expect((await session.of('text'))[0]!.text).toBe('You answered {"action":"cancel"}.')
    await session.close()
  })

  it('to open a page is declined if the person declines', async () => {
    const session = await acpSession()
    await session.say('open a page')
    const [item] = await session.pending()
    await session.answer(item!, { answers: [{ selected: ['Decline'] }] })
    await session.until('turn_ended')
    expect((await session.of('text'))[0]!.text).toBe('{"action":"decline"}')
    await session.close()
  })

  it('for a secret is declined, and nobody is asked', async () => {
    const session = await acpSession()
    await session.say('ask for a secret')
    await session.until('turn_ended')
    expect((await session.of('text'))[0]!.text).toBe('{"action":"decline"}')
    expect(await session.of('interaction_request')).toEqual([])
    await session.close()
  })
})

describe.concurrent('a plan', () => {
  it.each([
    [{ decision: 'edit' }, 'yes', 'acceptEdits'],
    [{ decision: 'adjust', feedback: 'smaller' }, 'no', 'plan'],
  ])('that is settled with %j', async (answer, optionId, mode) => {
    const session = await acpSession({ mode: 'plan' })
    await session.say('make a plan')
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'plan_review', request: { plan: '# Do it' } })
    await session.answer(item!, answer)
    await session.until('turn_ended')
    const [first, ...rest] = (await session.of('text')).map(({ text }) => text)
    expect(first).toContain(JSON.stringify({ outcome: 'selected', optionId }))
    expect(rest).toEqual('feedback' in answer ? ['I heard: The user wants the plan changed: smaller'] : [])
    expect(await session.mode()).toBe(mode)
    await session.close()
  })

  it('is carried out in a session that knows nothing but the plan', async () => {
    const session = await acpSession({ mode: 'plan' })
    await session.say('make a plan')
    const [item] = await session.pending()
    await session.answer(item!, { decision: 'default', updatedPlan: '# Do it well' })
    await session.until('turn_ended')
    expect((await session.of('text')).at(-1)!.text).toContain('# Do it well')
    expect(await session.of('agent_session')).toHaveLength(2)
    await session.say('what do you know')
    await session.until('turn_ended', 2)
    expect((await session.of('text')).at(-1)!.text).not.toContain('make a plan')
    await session.close()
  })
})

describe.concurrent('a failure', () => {
  it('of a prompt is an error event, and the session continues', async () => {
    const session = await acpSession()
    await session.say('fail now')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]).toMatchObject({ code: 'agent_error', fatal: false })
    await sayHello(session, 2)
    await session.close()
  })

  it('of the program is reported as lost with its exit code, and the next message starts it again', async () => {
    const session = await acpSession()
    await session.say('die now')
    await session.until('turn_ended')
    const message = 'Scripted ended with the exit code 3.'
    expect(await session.of('error')).toMatchObject([{ code: 'agent_lost', message }])
    await sayHello(session, 2)
    await session.close()
  })

  it('[L10] of a program with a pending request leaves the card, and the model gets the answer', async () => {
    const session = await acpSession()
    await session.say('ask me')
    const [item] = await session.pending()
    killAtOnce(programsOf(session.home, 'node'))
    await session.until('error')
    await session.answer(item!, { values: { nights: 4 } })
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect((await session.of('text')).at(-1)!.text).toContain('{"nights":4}')
    await session.close()
  })

  it('[L10] a message while the request of a lost program is pending does not end the turn', async () => {
    const session = await acpSession()
    await session.say('ask me')
    const [item] = await session.pending()
    killAtOnce(programsOf(session.home, 'node'))
    await session.until('error')
    await session.say('say hello')
    await session.until('text')
    expect(await session.of('turn_ended')).toEqual([])
    await session.answer(item!, { values: { nights: 5 } })
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect((await session.of('text')).at(-1)!.text).toContain('{"nights":5}')
    await session.close()
  })

  it('of a program while it starts is reported in its own words', async () => {
    const session = await acpSession({ command: ['/bin/sh', '-c', 'echo "no licence" >&2; exit 1'] })
    await session.say('say hello')
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'error' }])
    expect((await session.of('error'))[0]).toMatchObject({
      message: 'Scripted ended: no licence',
      fatal: true,
    })
    await session.close()
  })

  it('of a program to answer the handshake can be interrupted', async () => {
    const session = await acpSession({ command: ['/bin/sh', '-c', 'tail -f /dev/null'] })
    await session.say('say hello')
    await eventually(() => expect(programsOf(session.home, 'tail')).toHaveLength(1))
    await session.host.as(me).interrupt(session.sessionId)
    expect(await session.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
    expect(await session.of('error')).toEqual([])
    await eventually(() => expect(programsOf(session.home)).toEqual([]))
    await session.say('say hello')
    await eventually(() => expect(programsOf(session.home, 'tail')).toHaveLength(1))
    await session.close()
    await eventually(() => expect(programsOf(session.home)).toEqual([]))
  })

  it('output that is no message is ignored', async () => {
    const session = await acpSession()
    await session.say('make noise')
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect((await session.of('text')).map(({ text }) => text)).toEqual(['Still here.'])
    await session.close()
  })

  it('a folder that does not exist is named in the error', async () => {
    const session = await acpSession({ cwd: '/nowhere/at/all' })
    await session.say('say hello')
    await session.until('turn_ended')
    expect((await session.of('error'))[0]!.message).toContain('/nowhere/at/all')
    await session.close()
  })

  it('a missing program is reported in one line', async () => {
    const missing = acpAgent({ id: 'x', name: 'Nobody', command: 'no-such-agent', env: { PATH: '/usr/bin' } })
    expect(await missing.check()).toEqual({
      available: false,
      reason: 'There is no no-such-agent to run: install Nobody, or correct its command.',
    })
  })
})
