import { questionAnswer, type Json, type Question, type QuestionReply } from '@askback/protocol'

/** One question's answer while it is being given. */
export interface ReplyDraft {
  selected: string[]
  isOther: boolean
  /** Kept when another option is chosen, and counts only while `isOther`. */
  otherText: string
  /** Goes with the answer, whatever that is. */
  note: string
}

/** A draft counts while the log has the same reply as when it was begun: one that is stored later replaces it. */
export interface BegunReply extends ReplyDraft {
  /** From `keyOf`. */
  over: string
}

/** The replies that a question ended with, or that are stored so far. */
export function repliesIn(answers: Json | undefined): QuestionReply[] {
  const parsed = questionAnswer.safeParse(Array.isArray(answers) ? { answers } : answers)
  return parsed.success ? parsed.data.answers : []
}

/** `null` while it is not complete. */
export function replyOf({ selected, isOther, otherText, note }: ReplyDraft): QuestionReply | null {
  const other = otherText.trim()
  const said = note.trim()
  if (isOther && other === '') return null
  if (!isOther && selected.length === 0) return null
  return { selected, ...(isOther && { other }), ...(said !== '' && { note: said }) }
}

export function draftOf(reply: QuestionReply | undefined, { options }: Question): ReplyDraft {
  const { selected = [], other, note = '' } = reply ?? {}
  return { selected, isOther: other !== undefined || options.length === 0, otherText: other ?? '', note }
}

/** Equal for equal replies. */
export function keyOf(reply: QuestionReply | null | undefined): string {
  if (!reply) return ''
  const { selected, other = null, note = null } = reply
  return JSON.stringify([selected, other, note])
}

/** Nothing for what nobody has touched here. */
export function areBegunReplies(value: unknown): value is (BegunReply | null)[] {
  return Array.isArray(value) && value.every((each) => each === null || isBegunReply(each))
}

function isBegunReply(value: unknown): value is BegunReply {
  if (typeof value !== 'object' || value === null) return false
  const { selected, isOther, otherText, note, over } = value as Partial<BegunReply>
  const areTexts = [otherText, note, over].every((text) => typeof text === 'string')
  return Array.isArray(selected) && typeof isOther === 'boolean' && areTexts
}
