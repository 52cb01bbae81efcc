import { createDesk, memoryStore } from '@askback/core'
import { answer, person, questionFor } from './workload.mjs'

/** @import { Desk, Store } from '@askback/core' */

/**
 * Writes a session of at least so many events into a store: turns of an agent that talks, uses tools and asks. A desk in memory
 * makes it, and its appends and its snapshot are then copied, which takes a fraction of the time.
 *
 * @param {Store} store
 * @param {string} sessionId
 * @param {number} events
 */
export async function writeLongSession(store, sessionId, events) {
  const source = memoryStore()
  const desk = createDesk({ store: source })
  await desk.createSession({ id: sessionId, agent: 'bench' })
  let seq = 0
  for (let turn = 0; seq < events; turn++) {
    await runTurn(desk, sessionId, turn)
    ;({ seq } = await desk.snapshot(sessionId))
  }
  desk.close()
  await copyAppends(source, store)
  const snapshot = await source.loadSnapshot(sessionId)
  if (snapshot) await store.saveSnapshot(sessionId, snapshot)
  return seq
}

/**
 * @param {Desk} desk
 * @param {string} sessionId
 * @param {number} turn
 */
async function runTurn(desk, sessionId, turn) {
  const turnId = `turn-${turn}`
  const call = (/** @type {number} */ number) => `call-${turn}-${number}`
  await desk.report({
    sessionId,
    events: [
      { type: 'turn_started', turnId },
      {
        type: 'thinking',
        turnId,
        blockId: `think-${turn}`,
        text: `${'Let me look at it. '.repeat(20)}${turn}`,
      },
      ...[0, 1, 2].flatMap((number) => toolUse(turnId, call(number))),
    ],
  })
  const request = questionFor(turn)
  const { interaction } = await desk.open({ sessionId, kind: 'question', request, turnId })
  const { interactionId } = interaction
  await desk.as({ by: person, via: 'web' }).respond({ sessionId, interactionId, answer })
  await desk.report({
    sessionId,
    events: [
      {
        type: 'text',
        turnId,
        blockId: `text-${turn}`,
        text: `${'That is how it is now. '.repeat(20)}${turn}`,
      },
      { type: 'turn_ended', turnId, reason: 'done' },
    ],
  })
}

/**
 * @param {string} turnId
 * @param {string} toolCallId
 * @returns {Parameters<Desk['report']>[0]['events']}
 */
function toolUse(turnId, toolCallId) {
  const input = { command: `grep -rn "queue" src/${toolCallId}`, description: 'Find where jobs are queued' }
  const output = `src/${toolCallId}/queue.ts:12: export function enqueue(job) {\n`.repeat(6)
  return [
    { type: 'tool_call', turnId, toolCallId, toolName: 'Bash', input, source: 'agent' },
    { type: 'tool_result', turnId, toolCallId, output, isError: false },
  ]
}

/**
 * @param {Store} from
 * @param {Store} to
 */
async function copyAppends(from, to) {
  const appends = []
  for (const { sessionId, events } of await from.changes({ limit: Infinity })) {
    appends.push(to.append({ sessionId, expectedSeq: (events[0]?.seq ?? 1) - 1, events }))
  }
  for (const { ok } of await Promise.all(appends)) if (!ok) throw new Error('The copy conflicts with itself.')
}
