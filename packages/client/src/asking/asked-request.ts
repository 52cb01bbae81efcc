import {
  AskbackError,
  hasAnswer,
  isInDoubt,
  type Actor,
  type BuiltInKind,
  type Interaction,
  type InteractionOf,
  type Json,
  type Via,
} from '@askback/protocol'
import type { AskOutcome, MissingAnswer, MissingReason } from './asked.js'

/** A request of one kind, ready to be opened, and how its answer is read. */
export interface AskedRequest<Value> {
  kind: string
  toolName?: string
  request: Json
  /** The answer that settles it at the deadline. */
  defaultAnswer?: Json
  /** Only called for a request that was answered or approved. */
  read: (interaction: Interaction) => ReadAnswer<Value>
}

export type ReadAnswer<Value> = { value: Value } | Pick<MissingAnswer, 'reason' | 'message' | 'text'>

/** How a settled request ended for the program that asked. */
export function outcomeOf<Value>(
  interaction: Interaction,
  read: AskedRequest<Value>['read'],
): AskOutcome<Value> {
  const who = actorOf(interaction)
  const reason = missingReason(interaction)
  if (reason) return { ok: false, reason, message: messageOf(interaction, reason), ...who, interaction }
  const answer = read(interaction)
  return 'value' in answer
    ? { ok: true, value: answer.value, ...who, interaction }
    : { ok: false, ...answer, ...who, interaction }
}

function missingReason(interaction: Interaction): MissingReason | null {
  switch (interaction.settlement) {
    case 'answered':
    case 'approved':
      return isInDoubt(interaction) ? 'in_doubt' : null
    case 'denied':
    case 'cancelled':
    case 'timed_out':
    case 'superseded':
      return interaction.settlement
    case undefined:
      throw new TypeError(`The interaction ${interaction.interactionId} is not settled.`)
  }
}

function messageOf(interaction: Interaction, reason: MissingReason): string {
  const { by, message } = interaction
  const name = by?.name ?? by?.id
  switch (reason) {
    case 'denied':
      return `${name ?? 'A rule'} denied it${message ? `: ${message}` : '.'}`
    case 'cancelled':
      return `The request was cancelled${name === undefined ? '' : ` by ${name}`}${message ? `: ${message}` : '.'}`
    case 'timed_out':
      return 'Nobody answered in time.'
    case 'superseded':
      return 'Another request replaced this one.'
    case 'in_doubt':
      return 'This was approved, but the approval had been handed over before: what it allows may have run already. Check that, then ask again under another key.'
    case 'other_text':
      return 'The person chose none of the options and wrote a text of their own.'
    case 'edited_input':
      return 'The person edited the input, and there is no schema to check it. Nothing was run.'
  }
}

/** The interaction with the types of its kind. Throws if it is not what was asked, which only a broken gateway returns. */
export function answeredAs<Kind extends BuiltInKind>(
  interaction: Interaction,
  kind: Kind,
): InteractionOf<Kind> & { answer: NonNullable<InteractionOf<Kind>['answer']> } {
  if (hasAnswer(interaction, kind)) return interaction
  throw new AskbackError(
    'internal',
    `The interaction ${interaction.interactionId} is no ${kind} with an answer.`,
  )
}

/** A missing answer that only the kind knows, for `read`. */
export function missingAnswer(reason: MissingReason, interaction: Interaction, text?: string) {
  return { reason, message: messageOf(interaction, reason), ...(text !== undefined && { text }) }
}

function actorOf({ by, via }: Interaction): { by?: Actor; via?: Via } {
  return { ...(by && { by }), ...(via && { via }) }
}
