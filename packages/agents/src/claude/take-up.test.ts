import { createDesk, memoryStore, type AgentContext } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { expect, it } from 'vitest'
import { INTERRUPT_MS } from '../session/asking.js'
import { takeUp } from './take-up.js'

const questions = [{ header: 'Go', question: 'Go on?', options: [], multiSelect: false }]

/** A turn that was cut while it waited for one answer. */
async function cut() {
  const desk = createDesk({ store: memoryStore() })
  await desk.createSession({ id: 's', agent: 'claude' })
  await desk.report({ sessionId: 's', events: [{ type: 'turn_started', turnId: 'turn' }] })
  await desk.open({ sessionId: 's', kind: 'question', request: { questions }, turnId: 'turn' })
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
  return { desk, clock, interrupt, taken }
}

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
