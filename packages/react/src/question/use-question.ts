import {
  questionAnswer,
  questionRequest,
  type Interaction,
  type Json,
  type Question,
  type QuestionReply,
} from '@askback/protocol'
import { useMemo, useState } from 'react'
import { useInteraction, type InteractionControl } from '../interaction/use-interaction.js'
import { useDraft } from '../use-draft.js'

/** One question's answer while it is being given. */
export interface ReplyDraft {
  selected: string[]
  isOther: boolean
  /** Kept when another option is chosen, and counts only while `isOther`. */
  otherText: string
  /** Goes with the answer, whatever that is. */
  note: string
}

export interface QuestionControl extends InteractionControl {
  questions: Question[]
  replies: ReplyDraft[]
  /** The question that is on screen. */
  step: number
  goTo: (step: number) => void
  isAnswered: (step: number) => boolean
  isComplete: boolean
  /** Chooses an option, or takes it back where several may be chosen. */
  pick: (step: number, label: string) => void
  pickOther: (step: number) => void
  /** Typing a text of one's own chooses it. */
  typeOther: (step: number, text: string) => void
  /** Something to say beside the answer. */
  writeNote: (step: number, text: string) => void
  /** Sends the answers if every question has one. */
  submit: () => void
}

/** A question without any looks. `null` where the request is none. */
export function useQuestion(interaction: Interaction, open?: boolean): QuestionControl | null {
  const control = useInteraction(interaction, open)
  const questions = useMemo(() => {
    const parsed = questionRequest.safeParse(interaction.request)
    return parsed.success ? parsed.data.questions : null
  }, [interaction.request])
  const [draft, setDraft] = useDraft(control.interaction, isDraft)
  const told = useMemo(() => repliesIn(interaction.progress), [interaction.progress])
  const [chosenStep, goTo] = useState<number | null>(null)
  if (!questions) return null

  // What was answered on another surface counts until somebody touches it here.
  const replies = questions.map((question, step) => draft?.[step] ?? draftOf(told[step], question))
  const isAnswered = (step: number) => replyOf(replies[step]!) !== null
  const isComplete = questions.every((_, step) => isAnswered(step))
  const step = Math.min(chosenStep ?? firstOpen(questions, isAnswered), questions.length - 1)

  const change = (at: number, reply: Partial<ReplyDraft>) => {
    goTo(step)
    setDraft(replies.map((each, index) => (index === at ? { ...each, ...reply } : (draft?.[index] ?? null))))
  }

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
    submit() {
      if (!control.canAnswer || !isComplete) return
      void control.respond({ answers: replies.map(replyOf) as unknown as Json })
    },
  }
}

/** The replies that a settled question ended with. */
export function repliesIn(answers: Json | undefined): QuestionReply[] {
  const parsed = questionAnswer.safeParse(Array.isArray(answers) ? { answers } : answers)
  return parsed.success ? parsed.data.answers : []
}

function replyOf({ selected, isOther, otherText, note }: ReplyDraft): QuestionReply | null {
  const other = otherText.trim()
  const said = note.trim()
  if (isOther && other === '') return null
  if (!isOther && selected.length === 0) return null
  return { selected, ...(isOther && { other }), ...(said !== '' && { note: said }) }
}

function draftOf(reply: QuestionReply | undefined, { options }: Question): ReplyDraft {
  const { selected = [], other, note = '' } = reply ?? {}
  return { selected, isOther: other !== undefined || options.length === 0, otherText: other ?? '', note }
}

function firstOpen(questions: readonly Question[], isAnswered: (step: number) => boolean): number {
  const open = questions.findIndex((_, step) => !isAnswered(step))
  return open < 0 ? questions.length - 1 : open
}

/** Nothing for what nobody has touched here. */
function isDraft(value: unknown): value is (ReplyDraft | null)[] {
  return Array.isArray(value) && value.every((each) => each === null || isReplyDraft(each))
}

function isReplyDraft(value: unknown): value is ReplyDraft {
  if (typeof value !== 'object' || value === null) return false
  const { selected, isOther, otherText, note } = value as Partial<ReplyDraft>
  const areTexts = typeof otherText === 'string' && typeof note === 'string'
  return Array.isArray(selected) && typeof isOther === 'boolean' && areTexts
}
