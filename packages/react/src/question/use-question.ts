import {
  AskbackError,
  questionRequest,
  readTextReply,
  type Interaction,
  type Json,
  type Question,
} from '@askback/protocol'
import { useEffect, useMemo, useRef, useState } from 'react'
import { joinTexts } from '../interaction/unsent.js'
import { useInteraction, type InteractionControl } from '../interaction/use-interaction.js'
import { useClient } from '../transport-provider.js'
import { useDraft } from '../use-draft.js'
import {
  areBegunReplies,
  draftOf,
  keyOf,
  repliesIn,
  replyOf,
  type BegunReply,
  type ReplyDraft,
} from './reply-draft.js'
import { shownQuestionsOf, type ShownQuestion } from './shown-questions.js'

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
  /** Texts that were typed here and not sent. */
  unsent: string
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
  const [draft, setDraft] = useDraft(control.interaction, areBegunReplies)
  const stored = useMemo(() => repliesIn(interaction.progress), [interaction.progress])
  const [chosen, setChosen] = useState<{ step: number; over: string } | null>(null)

  const storedKey = (at: number) => keyOf(stored[at])
  const begun = (at: number): BegunReply | null => {
    const reply = draft?.[at]
    return reply?.over === storedKey(at) ? reply : null
  }
  const replies = (questions ?? []).map((question, at) => begun(at) ?? draftOf(stored[at], question))
  const isAnswered = (at: number) => replyOf(replies[at]!) !== null
  const isComplete = replies.every((_, at) => isAnswered(at))
  // A step whose answer was stored elsewhere meanwhile is done.
  const chosenStep = chosen && chosen.over === storedKey(chosen.step) ? chosen.step : null
  const step = Math.min(chosenStep ?? firstOpen(replies.length, isAnswered), replies.length - 1)

  const goTo = (to: number) => setChosen({ step: to, over: storedKey(to) })
  const withReply = (at: number, reply: Partial<ReplyDraft>) =>
    replies.map((each, index) =>
      index === at ? { ...each, ...reply, over: storedKey(index) } : begun(index),
    )
  const change = (at: number, reply: Partial<ReplyDraft>) => {
    goTo(step)
    setDraft(withReply(at, reply))
  }
  const send = (complete: readonly ReplyDraft[]) =>
    void control.respond({ answers: complete.map(replyOf) as unknown as Json })

  useShownQuestion(questions && control.phase !== 'settled' && open !== false ? control.interaction : null, {
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
      setDraft(withReply(step, { ...reply, note }))
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

/** Tells a composer on the same page which question the card shows. */
function useShownQuestion(interaction: Interaction | null, card: ShownQuestion): void {
  const shown = shownQuestionsOf(useClient())
  const latest = useRef(card)
  useEffect(() => {
    latest.current = card
  })
  const { step, matchesLog } = card
  const interactionId = interaction?.interactionId
  useEffect(() => {
    if (interactionId === undefined) return
    return shown.add(interactionId, { step, matchesLog, answer: (text) => latest.current.answer(text) })
  }, [shown, interactionId, step, matchesLog])
}

function firstOpen(count: number, isAnswered: (step: number) => boolean): number {
  for (let step = 0; step < count; step += 1) if (!isAnswered(step)) return step
  return count - 1
}
