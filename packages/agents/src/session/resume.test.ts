import { createDesk, memoryStore, type ReportedEvent } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { expect, it } from 'vitest'
import { INTERRUPT_GRACE_MS } from './call-request.js'
import { awaitOutcomes } from './resume.js'

const questions = [{ header: 'Go', question: 'Go on?', options: [], multiSelect: false }]

/** A turn that was interrupted while one request was pending. */
async function interruptedTurn(openedBy?: string) {
  const desk = createDesk({ store: memoryStore() })
  await desk.createSession({ id: 's', agent: 'claude' })
  const call = { turnId: 'turn', toolCallId: 'call', toolName: 'Bash', input: { command: 'ask' } }
  const events: ReportedEvent[] = [
    { type: 'turn_started', turnId: 'turn' },
    { type: 'tool_call', ...call, source: 'agent' },
  ]
  await desk.report({ sessionId: 's', events })
  const { interaction } = await desk.as({ id: openedBy }).open({
    sessionId: 's',
    kind: 'question',
    request: { questions },
    toolCallId: 'call',
    ...(openedBy === undefined && { turnId: 'turn' }),
  })
  const { state } = await desk.snapshot('s')
  const clock = fakeClock()
  const interrupt = new AbortController()
  const { signal } = interrupt
  const outcomes = awaitOutcomes(desk.session('s'), { turnId: 'turn', state }, { clock, signal })
  return { desk, clock, interrupt, outcomes, interaction }
}

it('[L10] the model gets the answer to a script’s request, because the script ended with its shell', async () => {
  const { desk, outcomes, interaction } = await interruptedTurn('agent:s')
  const { interactionId } = interaction
  const by = { by: { id: 'me' }, via: 'direct' } as const
  await desk.as(by).respond({ interactionId, answer: { answers: [{ selected: [], other: 'Go' }] } })
  const outcome = { message: expect.stringContaining('"other":"Go"') as string, isError: true }
  expect(await outcomes).toMatchObject([outcome])
  desk.close()
})

it('the model learns of a cancelled request only if no interrupt follows', async () => {
  const { desk, clock, outcomes } = await interruptedTurn()
  await desk.interrupt('s')
  await expect.poll(() => clock.armed).toBe(1)
  clock.advance(INTERRUPT_GRACE_MS)
  expect(await outcomes).toMatchObject([{ isError: true }])
  desk.close()
})

it('an interrupt leaves no outcomes for the model', async () => {
  const { desk, clock, interrupt, outcomes } = await interruptedTurn()
  await desk.interrupt('s')
  await expect.poll(() => clock.armed).toBe(1)
  interrupt.abort(new Error('interrupted'))
  await expect(outcomes).rejects.toThrow('interrupted')
  desk.close()
})
