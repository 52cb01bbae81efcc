import { createDesk, memoryStore, type AgentContext, type Reported } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { expect, it } from 'vitest'
import { INTERRUPT_MS } from '../session/asking.js'
import { takeUp } from './take-up.js'

const questions = [{ header: 'Go', question: 'Go on?', options: [], multiSelect: false }]

/** A turn that was cut while it waited for one answer. */
async function cut(openedBy?: string) {
  const desk = createDesk({ store: memoryStore() })
  await desk.createSession({ id: 's', agent: 'claude' })
  const call = { turnId: 'turn', toolCallId: 'call', toolName: 'Bash', input: { command: 'ask' } }
  const events: Reported[] = [
    { type: 'turn_started', turnId: 'turn' },
    { type: 'tool_call', ...call, source: 'agent' },
  ]
  await desk.report({ sessionId: 's', events })
  const { interaction } = await desk.open({
    sessionId: 's',
    kind: 'question',
    request: { questions },
    toolCallId: 'call',
    ...(openedBy === undefined ? { turnId: 'turn' } : { openedBy }),
  })
  const { state } = await desk.snapshot('s')
  const context = {
    session: desk.session('s'),
    agentSessionId: null,
  } as Partial<AgentContext> as AgentContext
  const clock = fakeClock()
  const interrupt = new AbortController()
  const taken = takeUp(
    context,
    { turnId: 'turn', state },
    { configFolder: null, clock, signal: interrupt.signal },
  )
  return { desk, clock, interrupt, taken, interaction }
}

it('[L10] what a script in its shell had asked is told, too: the script went down with the shell', async () => {
  const { desk, taken, interaction } = await cut('agent:s')
  const { interactionId } = interaction
  const by = { by: { id: 'me' }, via: 'direct' } as const
  await desk.respond({ ...by, interactionId, answer: { answers: [{ selected: [], other: 'Go' }] } })
  const outcome = { told: expect.stringContaining('"other":"Go"') as string, isError: true }
  expect(await taken).toMatchObject({ by: 'message', outcomes: [outcome] })
  desk.close()
})

it('what was cancelled is told only if no interrupt follows', async () => {
  const { desk, clock, taken } = await cut()
  await desk.interrupt('s')
  await expect.poll(() => clock.armed).toBe(1)
  clock.advance(INTERRUPT_MS)
  expect(await taken).toMatchObject({ by: 'message', outcomes: [{ isError: true }] })
  desk.close()
})

it('an interrupt leaves nothing to tell', async () => {
  const { desk, clock, interrupt, taken } = await cut()
  await desk.interrupt('s')
  await expect.poll(() => clock.armed).toBe(1)
  interrupt.abort(new Error('interrupted'))
  await expect(taken).rejects.toThrow('interrupted')
  desk.close()
})
