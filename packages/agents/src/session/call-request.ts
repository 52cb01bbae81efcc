import type { AskOptions, Clock, Settlement } from '@askback/core'

/**
 * An interrupt cancels what is pending before it reaches the agent. A cancelled request is therefore held back this long: a
 * refusal that reached the agent first would make it send one more request to its model.
 */
export const INTERRUPT_GRACE_MS = 1000

/** A request to a person about one tool call. */
export interface CallRequest {
  options: AskOptions & { signal: AbortSignal }
  /** Must be awaited before the settlement is passed on to the agent. Throws if the call was aborted meanwhile. */
  afterSettlement(settlement: Settlement<unknown>): Promise<void>
}

export interface CallRequestPorts {
  clock: Clock
  /** How long a request waits for a person; the desk's default without it. */
  timeoutMs?: number | null
  /** Aborts when the turn is interrupted or the agent ends. */
  signal: () => AbortSignal
}

/** A call without an id gets a tool call of its own in the log. */
export function requestForCall(
  call: Pick<AskOptions, 'agentId'> & { toolCallId: string | undefined; toolName: string },
  { clock, timeoutMs, signal }: CallRequestPorts,
): CallRequest {
  const { toolCallId, toolName, agentId } = call
  const options = {
    toolName,
    signal: signal(),
    ...(toolCallId !== undefined && { toolCallId, attach: true }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(agentId !== undefined && { agentId }),
  }
  return callRequest(options, clock)
}

export function callRequest(options: CallRequest['options'], clock: Clock): CallRequest {
  return {
    options,
    async afterSettlement({ settlement }) {
      if (settlement === 'cancelled') await pause(clock, INTERRUPT_GRACE_MS, options.signal)
      options.signal.throwIfAborted()
    },
  }
}

/** Resolves after this time, or as soon as the signal aborts. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      disarm()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const disarm = clock.alarm(clock.now() + ms, end)
    signal.addEventListener('abort', end, { once: true })
  })
}
