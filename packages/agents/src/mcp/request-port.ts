import type { Interaction, OpenBody, QuestionAnswer } from '@askback/protocol'

/** How long to wait for a settlement, and what an abort means. */
export interface SettlementWait {
  /** In milliseconds; 0 reads the request once, `null` waits until it is settled. */
  ms: number | null
  /** Aborts when the client gives up the call. This ends the wait. */
  signal: AbortSignal
  /** Whether the request is cancelled, too, if the client gives up. */
  isCancelledBySignal: boolean
}

/**
 * The requests of one MCP client. In a gateway these methods call its desk; in `askback mcp` they call the HTTP API of a gateway. Both
 * store everything in the log, so that a request outlives the MCP server and its client.
 */
export interface RequestPort {
  /** Opens a request and resolves when it is durable. A rule may have settled it at once; then that settlement is claimed (L10). */
  open(body: OpenBody): Promise<Interaction>
  /** A request that this client may read, without a claim. Rejects with `not_found` for any other. */
  find(interactionId: string): Promise<Interaction>
  /** The requests of this session that came by MCP and are pending, or whose settlement nobody has claimed. Oldest first. */
  unfinished(): Promise<Interaction[]>
  /** Resolves when the request is settled, after the settlement is claimed (L10), or with the pending request at the end of the wait. */
  wait(item: Interaction, wait: SettlementWait): Promise<Interaction>
  /** Cancels the request. Does nothing if it is settled. */
  cancel(item: Interaction): Promise<void>
  /**
   * Answers a question with what the client's user has entered. Does nothing if it is settled or the answer does not fit. Without this
   * method, clients are never asked for an answer.
   */
  answer?: ((item: Interaction, answer: QuestionAnswer) => Promise<void>) | undefined
}

/** Which of the requests in a session a client may still want: see `RequestPort.unfinished`. */
export function isUnfinished({ source, status, delivered }: Interaction): boolean {
  return source === 'mcp' && (status === 'pending' || delivered !== true)
}
