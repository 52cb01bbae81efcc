import {
  AskbackError,
  questionRequest,
  readTextReply,
  repliesIn,
  type Interaction,
  type Json,
  type Question,
  type QuestionReply,
} from '@askback/protocol'
import { useMemo, useState } from 'react'
import { useAnswer } from '../interaction/use-answer.js'
import type { InteractionControl } from '../interaction/use-interaction.js'
import { joinTexts } from '../use-draft.js'
import { useShownQuestion } from './shown-questions.js'

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
interface ReplyDraftOnCard extends ReplyDraft {
  /** The key (`keyOf`) of the reply in the log when this draft was begun. */
  basedOn: string
}

/** What `useQuestion` returns, in addition to what `useInteraction` does. Questions are counted from 0. */
export interface QuestionControl extends InteractionControl {
  questions: Question[]
  replies: ReplyDraft[]
  /** The question that the card shows. */
  step: number
  goTo: (step: number) => void
  isAnswered: (step: number) => boolean
  isComplete: boolean
  /** Chooses an option, or removes it if several may be chosen and it is already. */
  pick: (step: number, label: string) => void
  pickOther: (step: number) => void
  /** Sets the person's own answer, and chooses it. */
  typeOther: (step: number, text: string) => void
  /** Sets a note that is sent with the answer. */
  writeNote: (step: number, text: string) => void
  /** Texts that were typed here and not sent. */
  unsent: string
  /** Sends the answers if every question has one, else does nothing. */
  submit: () => void
}

/**
 * The state and the actions of a question, without any markup. Returns `null` if the request is not a valid question.
 * Replies that another surface stores appear in `replies`. Drafts survive a reload.
 *
 * @example
 * const control = useQuestion(interaction)
 * if (!control) return null
 * return control.questions[control.step]?.options.map(({ label }) => (
 *   <button key={label} onClick={() => control.pick(control.step, label)}>{label}</button>
 * ))
 */
export function useQuestion(interaction: Interaction, open?: boolean): QuestionControl | null {
  const { control, request, draft, setDraft } = useAnswer(interaction, open, {
    request: questionRequest,
    isDraft: areReplyDrafts,
  })
  const questions = request?.questions ?? null
  const stored = useMemo(() => repliesIn(interaction.progress), [interaction.progress])
  const [chosen, setChosen] = useState<{ step: number; basedOn: string } | null>(null)

  const storedKey = (at: number) => keyOf(stored[at])
  const currentDraft = (at: number): ReplyDraftOnCard | null => {
    const reply = draft?.[at]
    return reply?.basedOn === storedKey(at) ? reply : null
  }
  const replies = (questions ?? []).map((question, at) => currentDraft(at) ?? draftOf(stored[at], question))
  const isAnswered = (at: number) => replyOf(replies[at]!) !== null
  const isComplete = replies.every((_, at) => isAnswered(at))
  // If another surface has answered the chosen step meanwhile, the card continues with the first open question.
  const chosenStep = chosen && chosen.basedOn === storedKey(chosen.step) ? chosen.step : null
  const step = Math.min(chosenStep ?? firstUnanswered(replies.length, isAnswered), replies.length - 1)

  const goTo = (to: number) => setChosen({ step: to, basedOn: storedKey(to) })
  const draftWith = (at: number, reply: Partial<ReplyDraft>) =>
    replies.map((each, index) =>
      index === at ? { ...each, ...reply, basedOn: storedKey(index) } : currentDraft(index),
    )
  const change = (at: number, reply: Partial<ReplyDraft>) => {
    goTo(step)
    setDraft(draftWith(at, reply))
  }
  const send = (replyDrafts: readonly ReplyDraft[]) =>
    void control.respond({ answers: replyDrafts.map(replyOf) })

  const isOnPage = questions !== null && control.phase !== 'settled' && open !== false
  useShownQuestion(isOnPage ? control.interaction.interactionId : null, {
    step,
    matchesLog:
      step === stored.length && stored.every((_, at) => keyOf(replyOf(replies[at]!)) === storedKey(at)),
    answer(text) {
      const question = questions?.[step]
      if (!question || !control.canAnswer)
        throw new AskbackError('already_settled', 'This question takes no answer now.')
      const { note } = replies[step]!
      const reply = draftOf(readTextReply(question, text), question)
      const next = replies.with(step, { ...reply, note })
      setDraft(draftWith(step, { ...reply, note }))
      setChosen(null)
      if (next.every((each) => replyOf(each) !== null)) send(next)
    },
  })
  if (!questions) return null

  return {
    ...control,
    questions,
    replies,
    step,
    goTo,
    isAnswered,
    isComplete,
    pick(at, label) {
      const { selected } = replies[at]!
      if (!questions[at]!.multiSelect) return change(at, { selected: [label], isOther: false })
      const others = selected.filter((each) => each !== label)
      change(at, { selected: others.length < selected.length ? others : [...selected, label] })
    },
    pickOther(at) {
      const { isOther } = replies[at]!
      if (questions[at]!.multiSelect) change(at, { isOther: !isOther })
      else change(at, { isOther: true, selected: [] })
    },
    typeOther(at, otherText) {
      const isOne = !questions[at]!.multiSelect
      change(at, { otherText, isOther: true, ...(isOne && { selected: [] }) })
    },
    writeNote: (at, note) => change(at, { note }),
    unsent: joinTexts((draft ?? []).flatMap((reply) => [reply?.otherText, reply?.note])),
    submit() {
      if (control.canAnswer && isComplete) send(replies)
    },
  }
}

function firstUnanswered(count: number, isAnswered: (step: number) => boolean): number {
  for (let step = 0; step < count; step += 1) if (!isAnswered(step)) return step
  return count - 1
}

/** The reply to send; `null` while it is incomplete. */
function replyOf({ selected, isOther, otherText, note }: ReplyDraft): (QuestionReply & Json) | null {
  const other = otherText.trim()
  const trimmedNote = note.trim()
  if (isOther && other === '') return null
  if (!isOther && selected.length === 0) return null
  return { selected, ...(isOther && { other }), ...(trimmedNote !== '' && { note: trimmedNote }) }
}

function draftOf(reply: QuestionReply | undefined, { options }: Question): ReplyDraft {
  const { selected = [], other, note = '' } = reply ?? {}
  return { selected, isOther: other !== undefined || options.length === 0, otherText: other ?? '', note }
}

/** A string that is equal for equal replies. */
function keyOf(reply: QuestionReply | null | undefined): string {
  if (!reply) return ''
  const { selected, other = null, note = null } = reply
  return JSON.stringify([selected, other, note])
}

/** `null` is a question that was not touched on this page. */
function areReplyDrafts(value: unknown): value is (ReplyDraftOnCard | null)[] {
  return Array.isArray(value) && value.every((each) => each === null || isReplyDraft(each))
}

function isReplyDraft(value: unknown): value is ReplyDraftOnCard {
  if (typeof value !== 'object' || value === null) return false
  const { selected, isOther, otherText, note, basedOn } = value as Partial<ReplyDraftOnCard>
  const areTexts = [otherText, note, basedOn].every((text) => typeof text === 'string')
  return Array.isArray(selected) && typeof isOther === 'boolean' && areTexts
}
