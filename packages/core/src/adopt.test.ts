import { describe, expect, it } from 'vitest'
import type { AdoptBody, AdoptedItem, SessionEvent } from '@askback/protocol'
import { adopt } from './adopt.js'
import { createDesk } from './desk.js'
import { newId } from './ids.js'
import { memoryStore } from './memory-store.js'
import { fakeClock } from './testing/fake-clock.js'

const by = { id: 'ada' }
const cwd = '/work'

function call(toolCallId: string, at: number, cmd: string): AdoptedItem {
  return { type: 'tool_call', at, toolCallId, toolName: 'exec_command', input: { cmd } }
}

function result(toolCallId: string, at: number): AdoptedItem {
  return { type: 'tool_result', at, toolCallId, output: 'ok', isError: false }
}

function history(...items: AdoptedItem[]): AdoptBody {
  return { agent: 'codex', agentSessionId: 'thread', cwd, items }
}

/** A desk in whose outside session scripts have asked, at these times. */
async function held(...asks: { toolName: string; toolCallId?: string; at: number }[]) {
  const store = memoryStore()
  const clock = fakeClock()
  const desk = createDesk({ store, clock })
  const { session } = await desk.createSession({ agent: null, cwd })
  for (const { toolName, toolCallId = 'unknown', at } of asks) {
    clock.advance(at - clock.now())
    const { interaction } = await desk.open({
      sessionId: session.id,
      kind: 'question',
      toolName,
      toolCallId,
      request: { questions: [{ header: 'Q', question: `${toolName}?`, options: [], multiSelect: false }] },
    })
    const answer = { answers: [{ selected: [], other: 'yes' }] }
    await desk.respond({ interactionId: interaction.interactionId, answer, by, via: 'direct' })
  }
  desk.close()
  const adopted = (body: AdoptBody) => adopt(store, body, { by, newId, now: 0 })
  return { store, from: session.id, now: clock.now(), adopted }
}

async function logOf(store: ReturnType<typeof memoryStore>, sessionId: string): Promise<SessionEvent[]> {
  return store.read({ sessionId, limit: 1000 })
}

/** Which call each interaction stands directly behind. */
function anchors(events: SessionEvent[]): Record<string, string> {
  const found: Record<string, string> = {}
  let last = ''
  for (const event of events) {
    if (event.type === 'tool_call') last = event.toolCallId
    if (event.type === 'interaction_request') {
      expect(event.toolCallId).toBe(last)
      found[event.toolName] = event.toolCallId
    }
  }
  return found
}

describe('adopting a session', () => {
  it('makes its history a log of turns that ends idle and can be gone on with', async () => {
    const { store, adopted } = await held()
    const items: AdoptedItem[] = [
      { type: 'user_message', at: 1, text: 'go' },
      { type: 'thinking', at: 2, text: 'hm' },
      call('a', 3, 'ls'),
      result('a', 4),
      { type: 'text', at: 5, text: 'done' },
      { type: 'user_message', at: 6, text: 'more' },
      { type: 'text', at: 7, text: 'also done' },
    ]
    const { sessionId, created } = await adopted(history(...items))
    expect(created).toBe(true)
    const events = await logOf(store, sessionId)
    expect(events.map(({ type }) => type)).toEqual([
      'session_started',
      'agent_session',
      'user_message',
      'turn_started',
      'thinking',
      'tool_call',
      'tool_result',
      'text',
      'turn_ended',
      'user_message',
      'turn_started',
      'text',
      'turn_ended',
    ])
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect(events.find(({ type }) => type === 'thinking')!.at).toBe(2)
    const { session, state } = await createDesk({ store }).snapshot(sessionId)
    expect(session).toMatchObject({ agent: 'codex', status: 'idle', cwd })
    expect(state.agentSessionId).toBe('thread')
  })

  it('a second time changes nothing', async () => {
    const { store, adopted } = await held()
    const first = await adopted(history(call('a', 1, 'ls')))
    const before = await logOf(store, first.sessionId)
    expect(await adopted(history(call('a', 1, 'ls'), call('b', 2, 'ls')))).toEqual({
      ...first,
      created: false,
    })
    expect(await logOf(store, first.sessionId)).toEqual(before)
  })

  it('places what was asked by id, then by name and command, then by the nearest time', async () => {
    const start = fakeClock().now()
    const at = (ms: number) => start + ms
    const { store, from, adopted } = await held(
      { toolName: 'x_one', toolCallId: 'late', at: at(1000) },
      { toolName: 'askback_ask', at: at(2000) },
      { toolName: 'y_two', at: at(9000) },
    )
    const { sessionId } = await adopted({
      ...history(
        call('near', at(1000), 'ls'),
        call('named', at(5000), 'db=$(askback ask "Which?")'),
        call('late', at(9100), 'true'),
        call('last', at(20_000), 'true'),
      ),
      from,
    })
    expect(anchors(await logOf(store, sessionId))).toEqual({
      x_one: 'late',
      askback_ask: 'named',
      y_two: 'late',
    })
  })

  it('without a named session takes from the folder only what a call says is its own', async () => {
    const start = fakeClock().now()
    const { store, adopted } = await held(
      { toolName: 'askback_ask', at: start + 2000 },
      { toolName: 'y_two', at: start + 2000 },
    )
    const { sessionId } = await adopted(history(call('named', start + 1900, 'askback ask "Which?"')))
    expect(anchors(await logOf(store, sessionId))).toEqual({ askback_ask: 'named' })
  })

  it('[L1] [L2] keeps who said what, and when', async () => {
    const start = fakeClock().now()
    const { store, adopted } = await held({ toolName: 'askback_ask', toolCallId: 'a', at: start + 1000 })
    const { sessionId } = await adopted(history(call('a', start + 900, 'x')))
    const events = await logOf(store, sessionId)
    const asked = events.findIndex(({ type }) => type === 'interaction_request')
    expect(events.slice(asked - 1, asked + 3).map(({ type }) => type)).toEqual([
      'interaction_pending',
      'interaction_request',
      'interaction_response',
      'interaction_pending',
    ])
    expect(events[asked + 1]).toMatchObject({ settlement: 'answered', by, at: start + 1000 })
    expect((await createDesk({ store }).snapshot(sessionId)).state.pending).toEqual([])
  })

  it('says that a named session is not there', async () => {
    const { adopted } = await held()
    await expect(adopted({ ...history(), from: 'nowhere' })).rejects.toThrow('There is no session nowhere.')
  })
})
