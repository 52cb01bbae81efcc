import type { Json, SettlementKind } from '@askback/protocol'

/** The effect that an answer must have: the settlement, or the reason why it must not settle. */
export type AnswerEffect =
  | Extract<SettlementKind, 'answered' | 'approved' | 'denied'>
  | 'reprompt'
  | 'invalid'

export interface SentOpen {
  what: 'open'
  digest: string
  attach: boolean
  /** Uses `attach` with a tool call id, so that L11 applies. */
  owns: boolean
  keyed: boolean
  edit: 'inside' | 'outside' | 'plan_file' | 'none'
}

export interface SentAnswer {
  what: 'answer'
  /** `null` if the answer is addressed by its tool call or routed by its text. */
  interactionId: string | null
  toolCallId?: string
  answer: Json | null
  fit: AnswerEffect
  digestFits: boolean
}

export type SentByPerson =
  | SentAnswer
  | { what: 'text'; text: string }
  | { what: 'cancel'; interactionId: string }
  | { what: 'cancel_all' }

/** What a client has sent. It is found in the log by the `agentId` of an interaction, or by the actor's name of a settlement. */
export type Sent = { id: string; sessionId: string } & (SentOpen | SentByPerson)
