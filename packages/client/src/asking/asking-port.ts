import type {
  CreateSessionBody,
  Interaction,
  Json,
  OpenBody,
  Session,
  SessionEvent,
  ToolResultBody,
} from '@askback/protocol'
import type { ChangeItem, InboxPage, StreamItem } from '../transport/transport.js'

/** How a session that asks reaches its desk: by calls in the same process, or over HTTP. All else is the same for both. */
export interface AskingPort {
  createSession(body: CreateSessionBody, call: AskingCall): Promise<Session>
  /**
   * Opens a request. A repeated key returns the request of the first call, or the one that it was reprompted as. With `claim` a settlement
   * that is there at once is claimed.
   */
  open(sessionId: string, body: OpenBody, call: AskingCall & { claim: boolean }): Promise<OpenedRequest>
  /** Waits until the request is settled, and claims nothing. */
  settled(interaction: Interaction, signal: AbortSignal): Promise<Interaction>
  /** Claims the settlement: `delivered` says whether another receiver had claimed it before. */
  claim(interaction: Interaction, signal: AbortSignal): Promise<Interaction>
  cancel(interaction: Pick<Interaction, 'sessionId' | 'interactionId'>, call: AskingCall): Promise<void>
  /** Logs the result of the tool call that the request belongs to. Only the first one counts. */
  reportResult(
    call: Pick<Interaction, 'sessionId' | 'toolCallId'>,
    result: ToolResultBody,
    options: AskingCall,
  ): Promise<void>
  /** The last events of the log before this `seq`, ascending. */
  eventsBefore(sessionId: string, before: number, signal: AbortSignal): Promise<SessionEvent[]>
  events(sessionId: string, after: number, signal: AbortSignal): AsyncIterable<StreamItem>
  inbox(after: string | null, signal: AbortSignal): Promise<InboxPage>
  changes(signal: AbortSignal): AsyncIterable<ChangeItem>
  respond(interaction: Interaction, answer: Json, call: AskingCall): Promise<Interaction>
}

export interface AskingCall {
  /** Visible ASCII characters. */
  idempotencyKey: string
  signal: AbortSignal
}

export interface OpenedRequest {
  interaction: Interaction
  /** It was settled at once, or before, and this call claimed the settlement. */
  isClaimed: boolean
}
