import { AskbackError } from '@askback/protocol/errors'
import type { Interaction, OpenBody, RequestSource } from '@askback/protocol'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { GatewayClient } from '../reach/gateway-client.js'
import type { AskingSession } from './session.js'

/** How long the gateway holds back the response to one poll. */
const HOLD_SECONDS = 25
/** How long after the deadline to retry, if the gateway is away: once it is back it knows how the request ended. */
const RETRY_AFTER_DEADLINE_MS = 60_000
const CANCEL_TIMEOUT_MS = 1500
/** The pause before the next poll, if the gateway did not hold back the response. */
const SHORT_POLL_MS = 300
/** After a signal, how long a command may take to cancel what it asked. */
const SIGNAL_GRACE_MS = 2000
/** The exit code of a command that was ended by Ctrl-C. */
export const EXIT_INTERRUPTED = 130

type InteractionBody = { interaction: Interaction }

export interface Asking {
  gateway: GatewayClient
  session: AskingSession
  env: NodeJS.ProcessEnv
  /** The source of the request, as the log names it. @default 'cli' */
  source?: RequestSource | undefined
  /** Cancels the request. */
  signal?: AbortSignal | undefined
  /** Called when the request is stored and waits for a person. */
  onPending?: (item: Interaction) => void
}

/** Opens a request and waits until it is settled, also while the gateway restarts. */
export async function askPerson(body: OpenBody, asking: Asking): Promise<Interaction> {
  const interaction = await openRequest(body, asking)
  if (interaction.status === 'settled') return interaction
  asking.onPending?.(interaction)
  return waitForSettlement(interaction, asking)
}

/** Opens a request. It may be settled already, by a rule. */
export async function openRequest(
  body: OpenBody,
  asking: Pick<Asking, 'gateway' | 'session' | 'env' | 'source'>,
): Promise<Interaction> {
  const { gateway, env } = asking
  const { sessionId, withoutCalls } = asking.session
  // Not aborted by the signal: a request that may have been opened must be known here, so that it can be cancelled.
  const { interaction } = await gateway.json<InteractionBody>({
    method: 'POST',
    path: `/api/sessions/${encodeURIComponent(sessionId)}/interactions`,
    body: withoutCalls ? { toolCallId: `askback_${randomUUID()}`, ...body } : body,
    headers: { 'askback-source': asking.source ?? 'cli', ...toolCallHeaders(env) },
    holds: 1,
  })
  return interaction
}

/**
 * Waits until a request is settled. If the caller opened it, this claims the settlement, and `signal` cancels the request. For an
 * observer, `signal` only ends the wait, and the result may still be pending. It may also be pending at `endsAt`. That does not cut off
 * a poll: the gateway would have claimed a settlement that nobody gets.
 */
export async function waitForSettlement(
  interaction: Interaction,
  {
    gateway,
    signal,
    isObserver = false,
    endsAt = Infinity,
  }: Pick<Asking, 'gateway' | 'signal'> & { isObserver?: boolean; endsAt?: number },
): Promise<Interaction> {
  let current = interaction
  for (;;) {
    try {
      const shortUntil = Date.now() + (HOLD_SECONDS * 1000) / 2
      current = await poll(current, gateway, { signal, endsAt })
      if (current.status === 'settled' || Date.now() >= endsAt) return current
      // A gateway that drains answers at once, so this keeps the polls apart.
      if (Date.now() < shortUntil)
        await pause(Math.min(SHORT_POLL_MS, endsAt - Date.now()), undefined, signal && { signal })
    } catch (error) {
      if (signal?.aborted) return isObserver ? current : cancelRequest(current, gateway)
      const isAway = error instanceof AskbackError && error.code === 'unavailable'
      if (isAway && Date.now() >= endsAt) return current
      throw error
    }
  }
}

async function poll(
  item: Interaction,
  gateway: GatewayClient,
  { signal, endsAt }: { signal: AbortSignal | undefined; endsAt: number },
): Promise<Interaction> {
  const { expiresAt, onTimeout } = item
  const hasEnd = expiresAt !== undefined && onTimeout !== 'keep'
  const until = Math.min(hasEnd ? expiresAt + RETRY_AFTER_DEADLINE_MS : Infinity, endsAt)
  const seconds = Math.min(HOLD_SECONDS, Math.max(0, (endsAt - Date.now()) / 1000))
  const { interaction } = await gateway.json<InteractionBody>({
    method: 'GET',
    path: `${pathOf(item)}?wait=${seconds.toFixed(3)}`,
    holds: seconds,
    until: until === Infinity ? null : until,
    signal,
  })
  return interaction
}

/** Cancels a request, unless somebody answered first: then it resolves to that settlement. */
export async function cancelRequest(item: Interaction, gateway: GatewayClient): Promise<Interaction> {
  const until = Date.now() + CANCEL_TIMEOUT_MS
  try {
    return (await gateway.json<InteractionBody>({ method: 'DELETE', path: pathOf(item), until })).interaction
  } catch (error) {
    // Reading it as its opener claims it: an approval that this process received must not allow a call of another one (L10).
    if (error instanceof AskbackError && error.code === 'already_settled')
      return (await gateway.json<InteractionBody>({ method: 'GET', path: pathOf(item), until })).interaction
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

/** Headers that name the tool call in whose shell this command runs. Codex sets them as variables. */
function toolCallHeaders(env: NodeJS.ProcessEnv): Record<string, string> {
  const toolCall = headerId(env, 'CODEX_TOOL_CALL_ID')
  const thread = headerId(env, 'CODEX_THREAD_ID')
  return {
    ...(toolCall && { 'askback-tool-call': toolCall }),
    ...(thread && { 'askback-agent-thread': thread }),
  }
}

/** Encodes an id for a header: its UTF-8 bytes as latin1, which the gateway decodes. */
function headerId(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const id = env[name]
  if (id && /\p{Cc}/u.test(id))
    throw new AskbackError('invalid_request', `${name} holds a control character, so it is no id.`)
  return id && Buffer.from(id).toString('latin1')
}

/** The part of `process` that is used, so that tests can replace it. */
interface StoppableProcess {
  on(signal: NodeJS.Signals, listener: () => void): unknown
  exit(code: number): void
}

/**
 * Aborts at the first SIGINT, SIGTERM or SIGHUP. A second one ends the process, but not before the command had time to cancel its
 * request: programs that stop a command often send two signals at once.
 */
export function abortOnSignals(stoppable: StoppableProcess = process): AbortSignal {
  const aborted = new AbortController()
  let graceEndsAt = Infinity
  const stop = () => {
    if (!aborted.signal.aborted) {
      graceEndsAt = performance.now() + SIGNAL_GRACE_MS
      aborted.abort()
      return
    }
    const left = graceEndsAt - performance.now()
    if (left <= 0) stoppable.exit(EXIT_INTERRUPTED)
    // `unref`: a process that is done before that is not kept alive.
    else setTimeout(() => stoppable.exit(EXIT_INTERRUPTED), left).unref()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) stoppable.on(signal, stop)
  return aborted.signal
}
