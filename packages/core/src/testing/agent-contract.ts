import { describe, expect, it } from 'vitest'
import { pendingOf, type EventOf, type Interaction, type Json, type SessionEvent } from '@askback/protocol'
import type { AgentAdapter } from '../agents/agent.js'
import { createHost, type Host } from '../agents/host.js'
import { createDesk } from '../desk/desk.js'
import { replay } from '../desk/speculative.js'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'

/** The agent that `agentContract` tests. */
export interface AgentUnderTest {
  adapter: AgentAdapter
  /** Messages that make the agent do exactly what is described. */
  messages: {
    /** Says something and ends its turn. */
    plain: string
    /** Asks one question with the option `Yes`, and ends its turn when it is answered. */
    question: string
    /** Asks for approval of one tool call, runs it if approved, and ends its turn. */
    approval: string
  }
  /**
   * The kind of interaction that `question` opens, and an answer to it.
   *
   * @default a question, answered with `Yes`
   */
  asks?: { kind: string; answer: Json }
}

const person = { by: { id: 'me' }, via: 'direct' } as const
const yes = { answers: [{ selected: ['Yes'] }] }

/**
 * Tests what every agent adapter must do, whatever agent it runs.
 *
 * @param create returns a new adapter for each process
 *
 * @example
 * agentContract('my agent', () => ({ adapter: myAgent(), messages: { plain: '…', question: '…', approval: '…' } }))
 */
export function agentContract(name: string, create: () => AgentUnderTest): void {
  describe(`${name} as an agent`, () => {
    it('reports its own session id before any other event of the turn', async () => {
      const run = await startHost(create)
      await run.say(run.messages.plain)
      const events = await run.until('turn_ended')
      const sessionIndex = events.findIndex((event) => event.type === 'agent_session')
      expect(sessionIndex).toBeGreaterThan(0)
      expect(sessionIndex).toBeLessThan(events.findIndex((event) => event.type === 'text'))
    })

    it('ends its turn as done, and every event of the turn has its id', async () => {
      const run = await startHost(create)
      await run.say(run.messages.plain)
      const events = await run.until('turn_ended')
      const turnId = firstOf(events, 'turn_started').turnId
      expect(firstOf(events, 'turn_ended')).toMatchObject({ turnId, reason: 'done' })
      const activity = events.filter((event) => ['text', 'thinking', 'tool_call'].includes(event.type))
      expect(activity.map((event) => event.turnId)).toEqual(activity.map(() => turnId))
      expect((await run.host.snapshot(run.sessionId)).session.status).toBe('idle')
    })

    it('streams the deltas of a block and then stores the whole block', async () => {
      const run = await startHost(create)
      const deltas = new Map<string, string>()
      run.host.onLive(({ event }) => {
        if (event.type !== 'text_delta') return
        expect(event.offset).toBe(deltas.get(event.blockId)?.length ?? 0)
        deltas.set(event.blockId, (deltas.get(event.blockId) ?? '') + event.text)
      })
      await run.say(run.messages.plain)
      const events = await run.until('turn_ended')
      const block = firstOf(events, 'text')
      expect(deltas.get(block.blockId)).toBe(block.text)
      expect((await run.host.snapshot(run.sessionId)).live).toEqual([])
    })

    it('asks through the desk and continues with the answer', async () => {
      const run = await startHost(create)
      await run.say(run.messages.question)
      const item = await run.pending()
      expect(item).toMatchObject({
        kind: run.asks.kind,
        turnId: firstOf(await run.events(), 'turn_started').turnId,
      })
      expect((await run.host.snapshot(run.sessionId)).session.status).toBe('waiting')
      await run.host.desk.as(person).respond({ interactionId: item.interactionId, answer: run.asks.answer })
      const events = await run.until('turn_ended')
      expect(firstOf(events, 'turn_ended').reason).toBe('done')
      expect(firstOf(events, 'interaction_delivered').interactionId).toBe(item.interactionId)
    })

    it('runs what was approved, and does not run what was denied', async () => {
      for (const [decision, isError, settledBy] of [
        ['approve', false, undefined],
        ['deny', true, 'denied'],
      ] as const) {
        const run = await startHost(create)
        await run.say(run.messages.approval)
        const item = await run.pending()
        await run.host.desk.as(person).respond({ interactionId: item.interactionId, answer: { decision } })
        const events = await run.until('turn_ended')
        const result = events.find(
          (event) => event.type === 'tool_result' && event.toolCallId === item.toolCallId,
        )
        expect(result).toMatchObject({ isError, ...(settledBy && { settledBy }) })
      }
    })

    it('[L8] ends its turn when it is interrupted, and accepts the next message', async () => {
      const run = await startHost(create)
      await run.say(run.messages.question)
      const { interactionId } = await run.pending()
      await run.host.as(person).interrupt(run.sessionId)
      const events = await run.events()
      expect(firstOf(events, 'turn_ended').reason).toBe('interrupted')
      expect(firstOf(events, 'interaction_response')).toMatchObject({
        interactionId,
        settlement: 'cancelled',
      })
      await run.say(run.messages.plain)
      await run.until('turn_ended', 2)
    })

    it('[L8] is not started for an interrupt alone', async () => {
      const first = await startHost(create)
      await first.say(first.messages.question)
      await first.pending()
      await first.host.close()
      const second = await startHost(create, first)
      await second.pending()
      await second.host.as(person).interrupt(second.sessionId)
      expect(firstOf(await second.events(), 'turn_ended').reason).toBe('interrupted')
      expect(second.starts()).toBe(0)
    })

    it('starts a new conversation after a clear', async () => {
      const run = await startHost(create)
      await run.say(run.messages.question)
      await run.pending()
      await run.host.as(person).clear(run.sessionId)
      expect((await run.host.snapshot(run.sessionId)).session.status).toBe('idle')
      await run.say(run.messages.plain)
      await run.until('turn_ended', 2)
    })

    it('follows the permission mode', async () => {
      const run = await startHost(create)
      await run.host.setPermissionMode(run.sessionId, 'bypassPermissions')
      await run.say(run.messages.approval)
      const events = await run.until('turn_ended')
      expect(firstOf(events, 'interaction_response')).toMatchObject({ settlement: 'approved', via: 'policy' })
    })

    it('[L10] asks no second time after a restart, and continues with the answer', async () => {
      const first = await startHost(create)
      await first.say(first.messages.question)
      const { interactionId } = await first.pending()
      await first.host.close()
      const second = await startHost(create, first)
      expect((await second.pending()).interactionId).toBe(interactionId)
      await second.host.desk.as(person).respond({ interactionId, answer: second.asks.answer })
      const events = await second.until('turn_ended')
      expect(firstOf(events, 'turn_ended').reason).toBe('done')
      expect(events.filter((event) => event.type === 'interaction_request')).toHaveLength(1)
    })

    it('[L10] does not run a call again that was claimed before a restart', async () => {
      const first = await startHost(create)
      await first.say(first.messages.approval)
      const { interactionId, toolCallId } = await first.pending()
      await first.host.close()
      const between = createDesk({ store: first.store })
      await between.as(person).respond({ interactionId, answer: { decision: 'approve' } })
      await between.wait(interactionId)
      between.close()
      const second = await startHost(create, first)
      const events = await second.until('turn_ended')
      expect(events.filter((event) => event.type === 'interaction_delivered')).toHaveLength(1)
      const ran = events.filter(
        (event) => event.type === 'tool_result' && event.toolCallId === toolCallId && !event.isError,
      )
      expect(ran).toEqual([])
    })

    it('ends a turn without pending interactions as lost after a restart, not as interrupted by a person', async () => {
      const first = await startHost(create)
      await first.host.desk.report({
        sessionId: first.sessionId,
        events: [{ type: 'turn_started', turnId: 'cut' }],
      })
      await first.host.close()
      const second = await startHost(create, first)
      expect(firstOf(await second.until('turn_ended'), 'turn_ended')).toMatchObject({
        turnId: 'cut',
        reason: 'error',
        cause: 'agent_lost',
      })
    })
  })
}

async function startHost(create: () => AgentUnderTest, before?: { store: Store; sessionId: string }) {
  const { adapter, messages, asks = { kind: 'question', answer: yes } } = create()
  const store = before?.store ?? memoryStore()
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  let starts = 0
  const countingAdapter: AgentAdapter = {
    id: adapter.id,
    name: adapter.name,
    check: () => adapter.check(),
    recover: async () => adapter.recover?.(),
    start(context, signal) {
      starts++
      return adapter.start(context, signal)
    },
  }
  const host: Host = createHost({ desk: createDesk({ store, onError }), agents: [countingAdapter], onError })
  await host.ready
  const sessionId = before?.sessionId ?? (await host.createSession({})).session.id
  const events = () => store.read({ sessionId, limit: 1000 })

  /** Tries again after each event until `find` returns something. */
  async function waitFor<T>(find: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      expect(errors).toEqual([])
      const nextEvent = new Promise<void>((resolve) => {
        const off = host.desk.on(() => {
          off()
          resolve()
        })
      })
      const found = await find()
      if (found !== undefined) return found
      await nextEvent
    }
  }

  return {
    host,
    store,
    sessionId,
    messages,
    asks,
    starts: () => starts,
    events,
    say: (text: string) => host.as(person).message({ sessionId, text, route: 'agent' }),
    pending: () =>
      waitFor<Interaction>(async () => {
        const state = await replay(store, sessionId)
        return pendingOf(state)[0]
      }),
    until: (type: SessionEvent['type'], times = 1) =>
      waitFor(async () => {
        const all = await events()
        return all.filter((event) => event.type === type).length >= times ? all : undefined
      }),
  }
}

function firstOf<Type extends SessionEvent['type']>(events: SessionEvent[], type: Type): EventOf<Type> {
  const found = events.find((event): event is EventOf<Type> => event.type === type)
  if (!found) throw new Error(`no ${type} in the log`)
  return found
}
