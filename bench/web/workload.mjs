/** @import { ReportedEvent } from '@askback/core' */

const EVENTS_PER_TURN = 50

/**
 * A typical conversation: each turn has a text and tool calls with their results. Its last words are always the same.
 *
 * @param {number} events
 * @returns {Generator<ReportedEvent[]>}
 */
export function* turnsOf(events) {
  for (let turn = 0; turn * EVENTS_PER_TURN < events; turn++) {
    const turnId = `turn-${turn}`
    const responseId = `response-${turn}`
    /** @type {ReportedEvent[]} */
    const reported = [
      { type: 'turn_started', turnId },
      { type: 'text', turnId, responseId, blockId: `${turnId}-a`, text: answer(80) },
    ]
    for (let call = 0; reported.length < EVENTS_PER_TURN - 2; call++) {
      const toolCallId = `${turnId}-${call}`
      const input = { file_path: `src/file-${call}.ts` }
      reported.push(
        { type: 'tool_call', turnId, responseId, toolCallId, toolName: 'Read', input },
        { type: 'tool_result', turnId, responseId, toolCallId, output: answer(40), isError: false },
      )
    }
    const text = `${answer(30)}\n\nThese are the last words.`
    reported.push(
      { type: 'text', turnId, responseId, blockId: `${turnId}-b`, text },
      { type: 'turn_ended', turnId, reason: 'done' },
    )
    yield reported
  }
}

const paragraph =
  'The **cart** keeps its items in `localStorage`, which a second window does not see, so both of them write over each ' +
  'other. A [lock](https://example.com/locks) would help here, and a version number *even more*. '
const list =
  '\n\n- first, move the state into one place\n- then let `render` read it\n- last, take the old code out\n\n'
const code =
  '\n\n```ts\nexport function total(items: Item[]): number {\n  return items.reduce((sum, { price }) => sum + price, 0)\n}\n```\n\n'
const table = '\n\n| file | lines |\n| --- | --- |\n| cart.ts | 120 |\n| db.ts | 48 |\n\n'

/**
 * Markdown of so many words, with paragraphs, lists, code and tables.
 *
 * @param {number} words
 */
export function answer(words) {
  const parts = [paragraph, paragraph, list, paragraph, code, paragraph, paragraph, table]
  let text = ''
  for (let part = 0; count(text) < words; part++) text += parts[part % parts.length]
  return text.match(new RegExp(`^(?:\\s*\\S+){${words}}`))?.[0] ?? text
}

/** @param {string} text */
function count(text) {
  return text.split(/\s+/).length
}
