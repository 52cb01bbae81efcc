import { describe, expect, it } from 'vitest'
import { pendingOf, type EventOf, type Interaction, type Json, type SessionEvent } from '@askback/protocol'
import type { AgentAdapter } from '../agents/agent.js'
import { createHost, type Host } from '../agents/host.js'
import { createDesk } from '../desk/desk.js'
import { replay } from '../desk/speculative.js'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'

export interface AgentUnderTest {
  adapter: AgentAdapter
  /** Messages that make the agent do this, and nothing else. */
  messages: {
    /** Says something and ends its turn. */
    plain: string
    /** Asks one question with the option `Yes`, and ends its turn when it is answered. */
    question: string
    /** Asks for approval of one tool call, runs it if it may, and ends its turn. */
    approval: string
  }
  /** Of an agent that asks in another way than by a question: how, and what answers it. */
  asks?: { kind: string; answer: Json }
}

const me = { by: { id: 'me' }, via: 'direct' } as const
const yes = { answers: [{ selected: ['Yes'] }] }

/** What every adapter does, whatever agent it runs. `create` gives a fresh adapter for each process. */
export function agentContract(name: string, create: () => AgentUnderTest): void {
  describe(`${name} as an agent`, () => {
    it('tells its own session id before anything else of the turn', async () => {
      const run = await begin(create)
      await run.say(run.messages.plain)
      const events = await run.until('turn_ended')
      const known = events.findIndex((event) => event.type === 'agent_session')
      expect(known).toBeGreaterThan(0)
      expect(known).toBeLessThan(events.findIndex((event) => event.type === 'text'))
    })

    it('ends its turn as done, with the turn on everything it did', async () => {
      const run = await begin(create)
      await run.say(run.messages.plain)
      const events = await run.until('turn_ended')
      const turnId = one(events, 'turn_started').turnId
      expect(one(events, 'turn_ended')).toMatchObject({ turnId, reason: 'done' })
      const did = events.filter((event) => ['text', 'thinking', 'tool_call'].includes(event.type))
      expect(did.map((event) => event.turnId)).toEqual(did.map(() => turnId))
      expect((await run.host.snapshot(run.sessionId)).session.status).toBe('idle')
    })

    it('streams a block piece by piece and then stores it whole', async () => {
      const run = await begin(create)
      const deltas = new Map<string, string>()
      run.host.onLive(({ event }) => {
        if (event.type !== 'text_delta') return
        expect(event.offset).toBe(deltas.get(event.blockId)?.length ?? 0)
        deltas.set(event.blockId, (deltas.get(event.blockId) ?? '') + event.text)
      })
      await run.say(run.messages.plain)
      const events = await run.until('turn_ended')
      const block = one(events, 'text')
      expect(deltas.get(block.blockId)).toBe(block.text)
      expect((await run.host.snapshot(run.sessionId)).live).toEqual([])
    })

    it('asks through the desk and goes on with the answer', async () => {
      const run = await begin(create)
      await run.say(run.messages.question)
      const item = await run.pending()
      expect(item).toMatchObject({
        kind: run.asks.kind,
        turnId: one(await run.events(), 'turn_started').turnId,
      })
      expect((await run.host.snapshot(run.sessionId)).session.status).toBe('waiting')
      await run.host.desk.respond({ ...me, interactionId: item.interactionId, answer: run.asks.answer })
      const events = await run.until('turn_ended')
      expect(one(events, 'turn_ended').reason).toBe('done')
      expect(one(events, 'interaction_delivered').interactionId).toBe(item.interactionId)
    })

    it('runs what was approved, and does not run what was denied', async () => {
      for (const [decision, isError, settledBy] of [
        ['approve', false, undefined],
        ['deny', true, 'denied'],
      ] as const) {
        const run = await begin(create)
        await run.say(run.messages.approval)
        const item = await run.pending()
        await run.host.desk.respond({ ...me, interactionId: item.interactionId, answer: { decision } })
        const events = await run.until('turn_ended')
        const result = events.find(
          (event) => event.type === 'tool_result' && event.toolCallId === item.toolCallId,
        )
        expect(result).toMatchObject({ isError, ...(settledBy && { settledBy }) })
      }
    })

    it('[L8] ends its turn when it is interrupted, and takes the next message', async () => {
      const run = await begin(create)
      await run.say(run.messages.question)
      const { interactionId } = await run.pending()
      await run.host.interrupt(run.sessionId, me)
      const events = await run.events()
      expect(one(events, 'turn_ended').reason).toBe('interrupted')
      expect(one(events, 'interaction_response')).toMatchObject({ interactionId, settlement: 'cancelled' })
      await run.say(run.messages.plain)
      await run.until('turn_ended', 2)
    })

    it('[L8] is not started only to hear of an interrupt', async () => {
      const first = await begin(create)
      await first.say(first.messages.question)
      await first.pending()
      await first.host.close()
      const second = await begin(create, first)
      await second.pending()
      await second.host.interrupt(second.sessionId, me)
      expect(one(await second.events(), 'turn_ended').reason).toBe('interrupted')
      expect(second.starts()).toBe(0)
    })

    it('starts afresh after a clear', async () => {
      const run = await begin(create)
      await run.say(run.messages.question)
      await run.pending()
      await run.host.clear(run.sessionId, me)
      expect((await run.host.snapshot(run.sessionId)).session.status).toBe('idle')
      await run.say(run.messages.plain)
      await run.until('turn_ended', 2)
    })

    it('follows the permission mode', async () => {
      const run = await begin(create)
      await run.host.setPermissionMode(run.sessionId, 'bypassPermissions')
      await run.say(run.messages.approval)
      const events = await run.until('turn_ended')
      expect(one(events, 'interaction_response')).toMatchObject({ settlement: 'approved', via: 'policy' })
    })

    it('[L10] takes up its question after a restart, and is told what the person said', async () => {
      const first = await begin(create)
      await first.say(first.messages.question)
      const { interactionId } = await first.pending()
      await first.host.close()
      const second = await begin(create, first)
      expect((await second.pending()).interactionId).toBe(interactionId)
      await second.host.desk.respond({ ...me, interactionId, answer: second.asks.answer })
      const events = await second.until('turn_ended')
      expect(one(events, 'turn_ended').reason).toBe('done')
      expect(events.filter((event) => event.type === 'interaction_request')).toHaveLength(1)
    })

    it('[L10] never runs a call twice that was handed over before a restart', async () => {
      const first = await begin(create)
      await first.say(first.messages.approval)
      const { interactionId, toolCallId } = await first.pending()
      await first.host.close()
      const between = createDesk({ store: first.store })
      await between.respond({ ...me, interactionId, answer: { decision: 'approve' } })
      await between.wait(interactionId)
      between.close()
      const second = await begin(create, first)
      const events = await second.until('turn_ended')
      expect(events.filter((event) => event.type === 'interaction_delivered')).toHaveLength(1)
      const ran = events.filter(
        (event) => event.type === 'tool_result' && event.toolCallId === toolCallId && !event.isError,
      )
      expect(ran).toEqual([])
    })

    it('ends a turn that a restart cut with nothing pending as lost, not as interrupted by a person', async () => {
      const first = await begin(create)
      await first.host.desk.report({
        sessionId: first.sessionId,
        events: [{ type: 'turn_started', turnId: 'cut' }],
      })
      await first.host.close()
      const second = await begin(create, first)
      expect(one(await second.until('turn_ended'), 'turn_ended')).toMatchObject({
        turnId: 'cut',
        reason: 'error',
        cause: 'agent_lost',
      })
    })
  })
}

async function begin(create: () => AgentUnderTest, before?: { store: Store; sessionId: string }) {
  const { adapter, messages, asks = { kind: 'question', answer: yes } } = create()
  const store = before?.store ?? memoryStore()
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  let starts = 0
  const counted: AgentAdapter = {
    id: adapter.id,
    name: adapter.name,
    check: () => adapter.check(),
    recover: async () => adapter.recover?.(),
    start(context, signal) {
      starts++
      return adapter.start(context, signal)
    },
  }
  const host: Host = createHost({ desk: createDesk({ store, onError }), agents: [counted], onError })
  await host.ready
  const sessionId = before?.sessionId ?? (await host.createSession({})).session.id
  const events = () => store.read({ sessionId, limit: 1000 })

  async function when<T>(look: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      expect(errors).toEqual([])
      const heard = new Promise<void>((resolve) => {
        const off = host.desk.on(() => {
          off()
          resolve()
        })
      })
      const found = await look()
      if (found !== undefined) return found
      await heard
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
    say: (text: string) => host.message({ sessionId, text, ...me, route: 'agent' }),
    pending: () =>
      when<Interaction>(async () => {
        const state = await replay(store, sessionId)
        return pendingOf(state)[0]
      }),
    until: (type: SessionEvent['type'], times = 1) =>
      when(async () => {
        const all = await events()
        return all.filter((event) => event.type === type).length >= times ? all : undefined
      }),
  }
}

function one<Type extends SessionEvent['type']>(events: SessionEvent[], type: Type): EventOf<Type> {
  const found = events.find((event): event is EventOf<Type> => event.type === type)
  if (!found) throw new Error(`no ${type} in the log`)
  return found
}
