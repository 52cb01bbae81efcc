import type { Json, Question, QuestionReply } from '@askback/protocol'

/** The answer to one question while the person gives it. */
export interface ReplyDraft {
  selected: string[]
  isOther: boolean
  /** Kept while another option is chosen; it counts only while `isOther`. */
  otherText: string
  /** Sent with the answer. */
  note: string
}

/**
 * A draft of this card, with the reply that the log had when the draft was begun. If another surface stores a reply
 * later, the draft is outdated and the stored reply is shown.
 */
export interface ReplyDraftOnCard extends ReplyDraft {
  /** The key (`keyOf`) of the reply in the log when this draft was begun. */
  basedOn: string
}

/** The reply to send; `null` while it is incomplete. */
export function replyOf({ selected, isOther, otherText, note }: ReplyDraft): (QuestionReply & Json) | null {
  const other = otherText.trim()
  const trimmedNote = note.trim()
  if (isOther && other === '') return null
  if (!isOther && selected.length === 0) return null
  return { selected, ...(isOther && { other }), ...(trimmedNote !== '' && { note: trimmedNote }) }
}

export function draftOf(reply: QuestionReply | undefined, { options }: Question): ReplyDraft {
  const { selected = [], other, note = '' } = reply ?? {}
  return { selected, isOther: other !== undefined || options.length === 0, otherText: other ?? '', note }
}

/** A string that is equal for equal replies. */
export function keyOf(reply: QuestionReply | null | undefined): string {
  if (!reply) return ''
  const { selected, other = null, note = null } = reply
  return JSON.stringify([selected, other, note])
}

/** `null` is a question that was not touched on this page. */
export function areReplyDrafts(value: unknown): value is (ReplyDraftOnCard | null)[] {
  return Array.isArray(value) && value.every((each) => each === null || isReplyDraft(each))
}

function isReplyDraft(value: unknown): value is ReplyDraftOnCard {
  if (typeof value !== 'object' || value === null) return false
  const { selected, isOther, otherText, note, basedOn } = value as Partial<ReplyDraftOnCard>
  const areTexts = [otherText, note, basedOn].every((text) => typeof text === 'string')
  return Array.isArray(selected) && typeof isOther === 'boolean' && areTexts
}
