/**
 * The results of functions that run with an approval and a key. Each is logged as the result of its tool call, so that a program that
 * was restarted gets it instead of the doubt whether the call has run.
 */
import { copyJson, type Interaction, type Json } from '@askback/protocol'
import { randomKey } from '../transport/transport.js'
import type { AskingPort } from './asking-port.js'

/**
 * Thrown by a function with approval and a key, in a program that was restarted: the call has run before, and failed. `message` is
 * that of the error it threw then. It does not run again under this key.
 *
 * @example
 * if (error instanceof CallFailed) console.log('failed before the restart:', error.message)
 */
export class CallFailed extends Error {
  override readonly name = 'CallFailed'
  /** The approval of the call. */
  readonly interaction: Interaction

  constructor(message: string, interaction: Interaction) {
    super(message)
    this.interaction = interaction
  }
}

/** Runs the approved call, and stores its result or its error before either is passed on. */
export async function runAndStore<Result>(
  port: AskingPort,
  interaction: Interaction,
  run: () => Result | Promise<Result>,
): Promise<Result> {
  let result: Result
  try {
    result = await run()
  } catch (error) {
    await store(port, interaction, () => ({ output: messageOf(error), isError: true }))
    throw error
  }
  // JSON has no `undefined`, which most calls return.
  await store(port, interaction, () => ({ output: copyJson(result ?? null, 'result'), isError: false }))
  return result
}

/**
 * The call has run, so a result that cannot be stored (it is no JSON, or the gateway stays away) is still passed on. A restarted
 * program then finds the call in doubt, and does not run it again.
 */
async function store(
  port: AskingPort,
  interaction: Interaction,
  read: () => { output: Json; isError: boolean },
): Promise<void> {
  try {
    // No signal of the caller: they end the wait for a person, which is over.
    const call = { idempotencyKey: randomKey(), signal: new AbortController().signal }
    await port.reportResult(interaction, read(), call)
  } catch {
    // See above.
  }
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.toWellFormed()
}

/** An error is stored as its message. */
function textOf(output: Json): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

/** What the approved call has returned; `null` if that is not in the log. Throws `CallFailed` if the call threw. */
export async function findResult(
  port: AskingPort,
  interaction: Interaction,
  signal: AbortSignal,
): Promise<{ value: Json } | null> {
  const { sessionId, toolCallId, interactionId } = interaction
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const events = await port.eventsBefore(sessionId, before, signal)
    for (const event of events.toReversed()) {
      if (event.type === 'interaction_request' && event.interactionId === interactionId) return null
      if (event.type !== 'tool_result' || event.toolCallId !== toolCallId) continue
      if (event.isError) throw new CallFailed(textOf(event.output), interaction)
      // Of a result that was too long, only the beginning is in the log.
      return event.truncated === undefined ? { value: event.output } : null
    }
    const first = events[0]
    if (!first || first.seq === 1) return null
    before = first.seq
  }
}
