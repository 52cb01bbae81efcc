import type { Routed } from '@askback/client'
import { AskbackError, pendingOf } from '@askback/protocol'
import { useEffect, useState } from 'react'
import { ARM_MS } from '../guard/arming.js'
import { shownQuestionsOf } from '../question/shown-questions.js'
import { useClient } from '../transport-provider.js'
import { useSession, useStore } from '../use-session.js'
import { aimAt, isTaken, nextAim, targetOf, TO_AGENT, type Aim, type Choice } from './aim.js'
import { compositionOf } from './composition.js'
import { textTargets, type TextTarget } from './text-target.js'
import { useFocusedInteraction } from './use-focused-interaction.js'

export interface ComposerControl {
  text: string
  setText: (text: string) => void
  /** What the text answers; `null` if it answers nothing, or nothing was chosen yet. */
  target: TextTarget | null
  /**
   * Who gets the text. `log`: the session has no agent, so the text is a note that only readers of the log see.
   * `undecided`: several requests are pending and none of them was chosen or focused; nothing can be sent.
   */
  recipient: 'interaction' | 'agent' | 'log' | 'undecided'
  /** Whether an agent reads what answers nothing. */
  hasAgent: boolean
  /** Every pending request that takes a text. */
  choices: TextTarget[]
  /** Picks the request that the text answers, or with `null` the agent, until something else is asked. */
  choose: (interactionId: string | null) => void
  canSend: boolean
  isSending: boolean
  /** What somebody must know who is about to send: the text has no target, or was begun for another one. */
  notice: string | null
  error: AskbackError | null
  /** Where the text was begun for something else, the first call sends nothing: it takes `target` for it. */
  send: () => Promise<Routed | null>
}

/**
 * What somebody types to a session. It goes where `target` says, and nowhere else, whatever happens meanwhile. An empty
 * composer follows the focused card. A text that was begun stays with its target until another one is chosen.
 */
export function useComposer(sessionId: string): ComposerControl {
  const { view, store } = useSession(sessionId)
  const client = useClient()
  const composition = compositionOf(client, sessionId)
  const shown = shownQuestionsOf(client)
  const shownQuestions = useStore(shown)
  const { text, aim, isSending, error } = useStore(composition)
  const [choice, setChoice] = useState<Choice | null>(null)
  const [confirmed, setConfirmed] = useState<{ aim: Aim; at: number } | null>(null)
  useFocusedInteraction((interactionId) => setChoice({ interactionId }))
  useEffect(
    () => (view.connection === 'offline' ? composition.forgetOutage : undefined),
    [composition, view.connection],
  )

  const pending = view.state ? pendingOf(view.state) : []
  const targets = view.state ? textTargets(view.state, shownQuestions) : []
  const next = nextAim({ pending, targets, choice })
  const begun = text === '' ? null : aim
  const isMoved = begun !== null && view.state !== null && !isTaken(begun, targets)
  const current = begun === null || isMoved ? next : begun
  const target = current ? targetOf(current, targets) : null
  const hasAgent = view.state?.agent !== null

  return {
    text,
    setText: (value) => composition.setText(value, next),
    target,
    recipient: current === null ? 'undecided' : target ? 'interaction' : hasAgent ? 'agent' : 'log',
    hasAgent,
    choices: targets,
    choose(interactionId) {
      const among = new Set(pending.map((item) => item.interactionId))
      setChoice(interactionId === null ? { among } : { interactionId })
      const chosen = targets.find(({ interaction }) => interaction.interactionId === interactionId)
      composition.aim(chosen ? aimAt(chosen) : TO_AGENT)
    },
    canSend: text.trim() !== '' && !isSending && view.state !== null && current !== null,
    isSending,
    notice: text === '' ? null : noticeFor({ current, isMoved, isConfirming: aim === confirmed?.aim }),
    error,
    async send() {
      if (current === null) return null
      if (isMoved) {
        setConfirmed({ aim: current, at: performance.now() })
        composition.aim(current)
        return null
      }
      // The second half of a double press is no look at where it goes.
      if (aim !== null && aim === confirmed?.aim && performance.now() - confirmed.at < ARM_MS) return null
      return composition.send(async (written) => {
        if (current.route !== 'interaction') return store.send({ text: written, ...current })
        const { interactionId, questionIndex } = current
        const card = shown.getSnapshot().get(interactionId)
        // The gateway takes a text for the question that the log expects next, and knows nothing of other answers on the card.
        if (!card || card.matchesLog) return store.send({ text: written, ...current })
        if (card.step !== questionIndex)
          throw new AskbackError('invalid_request', 'The card shows another question now.')
        card.answer(written)
        return { routed: 'interaction', interactionId }
      })
    },
  }
}

function noticeFor(at: { current: Aim | null; isMoved: boolean; isConfirming: boolean }): string | null {
  if (at.isMoved && at.current === null) return `${MOVED} ${CHOOSE}`
  if (at.isMoved) return `${MOVED} Check where it goes now.`
  if (at.current === null) return CHOOSE
  return at.isConfirming ? 'Press again to send it there.' : null
}

const MOVED = 'What you were replying to no longer waits for it, so your text was not sent.'
const CHOOSE = 'Choose what you are replying to.'
