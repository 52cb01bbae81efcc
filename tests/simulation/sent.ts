import type { Json, SettlementKind } from '@askback/protocol'

/** How an answer fits its request: how it must settle, or why it must not. */
export type Fit = Extract<SettlementKind, 'answered' | 'approved' | 'denied'> | 'reprompt' | 'invalid'

export interface SentOpen {
  what: 'open'
  digest: string
  attach: boolean
  /** Attaches to a tool call that it names: then L11 holds. */
  owns: boolean
  keyed: boolean
  edit: 'inside' | 'outside' | 'plan_file' | 'none'
}

export interface SentAnswer {
  what: 'answer'
  /** `null` where it goes by its tool call or by its text. */
  interactionId: string | null
  toolCallId?: string
  answer: Json | null
  fit: Fit
  digestFits: boolean
}

export type SentByPerson =
  | SentAnswer
  | { what: 'text'; text: string }
  | { what: 'cancel'; interactionId: string }
  | { what: 'cancel_all' }

/** What a client has sent. The log names it: an opened interaction by its `agentId`, a settlement by the name of its actor. */
export type Sent = { id: string; sessionId: string } & (SentOpen | SentByPerson)
