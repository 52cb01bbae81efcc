import { AskbackError } from '@askback/protocol/errors'
import type { Interaction, OpenBody, RequestSource } from '@askback/protocol'
import { setTimeout as pause } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import type { Place } from './session.js'
import type { Gateway } from '../reach/gateway.js'

const HOLD_SECONDS = 25
/** For a gateway that comes back after the deadline and still knows how it ended. */
const GRACE_MS = 60_000
const CANCEL_MS = 1500
const PAUSE_MS = 300

type Answer = { interaction: Interaction }

export interface Asking {
  gateway: Gateway
  place: Place
  env: NodeJS.ProcessEnv
  /** How the request is said to have come. @default 'cli' */
  source?: RequestSource | undefined
  /** Cancels what was asked. */
  signal?: AbortSignal | undefined
  /** It is durable now, and waits for a person. */
  onPending?: (item: Interaction) => void
}

/** Asks, and waits until it is settled, through restarts of the gateway. */
export async function askPerson(body: OpenBody, asking: Asking): Promise<Interaction> {
  const { gateway, env } = asking
  const { sessionId, withoutCalls } = asking.place
  // Not ended by the signal: what may have been opened must be known to be cancelled.
  const { interaction } = await gateway.json<Answer>({
    method: 'POST',
    path: `/api/sessions/${encodeURIComponent(sessionId)}/interactions`,
    body: withoutCalls ? { toolCallId: `askback_${randomUUID()}`, ...body } : body,
    headers: { 'askback-source': asking.source ?? 'cli', ...whereFrom(env) },
    holds: 1,
  })
  if (interaction.status === 'settled') return interaction
  asking.onPending?.(interaction)
  return settlementOf(interaction, asking)
}

/**
 * Waits for one that was opened before, and claims its settlement for whoever opened it. When `signal` aborts it cancels,
 * or, for someone who only looks on, resolves with what is still pending.
 */
export async function settlementOf(
  item: Interaction,
  { gateway, signal, looksOn = false }: Pick<Asking, 'gateway' | 'signal'> & { looksOn?: boolean },
): Promise<Interaction> {
  let current = item
  for (;;) {
    try {
      const held = Date.now() + (HOLD_SECONDS * 1000) / 2
      current = await poll(current, gateway, signal)
      if (current.status === 'settled') return current
      // One that is about to go holds nothing back any more.
      if (Date.now() < held) await pause(PAUSE_MS, undefined, signal && { signal })
    } catch (error) {
      if (!signal?.aborted) throw error
      return looksOn ? current : cancel(current, gateway)
    }
  }
}

async function poll(
  item: Interaction,
  gateway: Gateway,
  signal: AbortSignal | undefined,
): Promise<Interaction> {
  const { expiresAt, onTimeout } = item
  const ends = expiresAt !== undefined && onTimeout !== 'keep'
  const { interaction } = await gateway.json<Answer>({
    method: 'GET',
    path: `${pathOf(item)}?wait=${HOLD_SECONDS}`,
    holds: HOLD_SECONDS,
    until: ends ? expiresAt + GRACE_MS : null,
    signal,
  })
  return interaction
}

/** Somebody may have been faster: then it ended as they said. */
async function cancel(item: Interaction, gateway: Gateway): Promise<Interaction> {
  const until = Date.now() + CANCEL_MS
  try {
    return (await gateway.json<Answer>({ method: 'DELETE', path: pathOf(item), until })).interaction
  } catch (error) {
    // Read by its opener, it is claimed: an approval that ends this process must not be good for another one (L10).
    if (error instanceof AskbackError && error.code === 'already_settled')
      return (await gateway.json<Answer>({ method: 'GET', path: pathOf(item), until })).interaction
    if (error instanceof AskbackError && error.code === 'unavailable')
      throw new AskbackError(
        'unavailable',
        `The gateway is away, so this could not be cancelled. It still waits: askback wait ${item.interactionId}`,
      )
    throw error
  }
}

function pathOf({ sessionId, interactionId }: Interaction): string {
  return `/api/sessions/${encodeURIComponent(sessionId)}/interactions/${encodeURIComponent(interactionId)}`
}

/** What the shell of an agent says of the tool call that runs in it. */
function whereFrom(env: NodeJS.ProcessEnv): Record<string, string> {
  const toolCall = idIn(env, 'CODEX_TOOL_CALL_ID')
  const thread = idIn(env, 'CODEX_THREAD_ID')
  return {
    ...(toolCall && { 'askback-tool-call': toolCall }),
    ...(thread && { 'askback-agent-thread': thread }),
  }
}

/** As a header carries it: its bytes, of which the gateway makes a text again. */
function idIn(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const id = env[name]
  if (id && /\p{Cc}/u.test(id))
    throw new AskbackError('invalid_request', `${name} holds a control character, so it is no id.`)
  return id && Buffer.from(id).toString('latin1')
}
