import type { MessageRoute } from '@askback/client'
import { AskbackError, pendingOf } from '@askback/protocol'
import { useEffect, useState } from 'react'
import { useFocusedInteraction } from '../card-focus.js'
import { ARM_MS } from '../guard/arming.js'
import { shownQuestionsOf } from '../question/shown-questions.js'
import { useClient } from '../askback-provider.js'
import { useSession, useStore } from '../use-session.js'
import { compositionOf } from './composition.js'
import {
  canDeliver,
  nextRoute,
  routeTo,
  targetOf,
  TO_AGENT,
  type ComposerRoute,
  type TargetChoice,
} from './text-route.js'
import { textTargets, type TextTarget } from './text-target.js'
import { useLabels, type Translate } from '../labels.js'

/** What a composer shows and does. */
export interface ComposerControl {
  text: string
  setText: (text: string) => void
  /** The request that the text answers; `null` if it answers none, or the person has not chosen yet. */
  target: TextTarget | null
  /**
   * Who gets the text. `log`: the session has no agent, so the text is a note that only readers of the log see.
   * `undecided`: several requests are pending and the person has neither chosen nor focused one; nothing can be sent.
   */
  recipient: 'interaction' | 'agent' | 'log' | 'undecided'
  /** Whether the session has an agent, which reads texts that answer no request. */
  hasAgent: boolean
  /** Every pending request that takes a text. */
  choices: TextTarget[]
  /** Chooses the request that the text answers, or with `null` the agent until another request is opened. */
  choose: (interactionId: string | null) => void
  canSend: boolean
  isSending: boolean
  /** What the person must know before sending: the text has no target, or was begun for another one. */
  notice: string | null
  /** Why the last text was not sent. The text is still there. */
  error: AskbackError | null
  /**
   * Sends the text to `target`. If the text was begun for another target, the first call sends nothing and only assigns
   * it to the current target; `notice` asks to press again. Resolves to `null` if nothing was sent.
   */
  send: () => Promise<MessageRoute | null>
}

/**
 * The state of a text field that writes to a session. The text goes to `target` and nowhere else, whatever happens in the
 * session meanwhile: an empty composer follows the focused card, and a text that was begun keeps its target until the
 * person chooses another one. Texts survive a reload.
 *
 * @example
 * const { text, setText, target, canSend, send } = useComposer(sessionId)
 * return (
 *   <form onSubmit={(event) => { event.preventDefault(); if (canSend) void send() }}>
 *     {target && <p>Replying to: {target.about}</p>}
 *     <input value={text} onChange={(event) => setText(event.target.value)} />
 *   </form>
 * )
 */
export function useComposer(sessionId: string): ComposerControl {
  const t = useLabels()
  const { view, store } = useSession(sessionId)
  const client = useClient()
  const composition = compositionOf(client, sessionId)
  const cards = shownQuestionsOf(client)
  const shownQuestions = useStore(cards)
  const { text, route, isSending, error } = useStore(composition)
  const [choice, setChoice] = useState<TargetChoice | null>(null)
  const [confirming, setConfirming] = useState<{ route: ComposerRoute; at: number } | null>(null)
  useFocusedInteraction((interactionId) => setChoice({ interactionId }))
  useEffect(
    // The cleanup runs when the connection is no longer offline.
    () => (view.connection === 'offline' ? composition.clearOutageError : undefined),
    [composition, view.connection],
  )

  const pending = view.state ? pendingOf(view.state) : []
  const targets = view.state ? textTargets(view.state, shownQuestions, t) : []
  const next = nextRoute({ pending, targets, choice })
  const begunFor = text === '' ? null : route
  const isMoved = begunFor !== null && view.state !== null && !canDeliver(begunFor, targets)
  const current = begunFor === null || isMoved ? next : begunFor
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
      composition.setRoute(chosen ? routeTo(chosen) : TO_AGENT)
    },
    canSend: text.trim() !== '' && !isSending && view.state !== null && current !== null,
    isSending,
    notice:
      text === '' ? null : noticeFor({ current, isMoved, isConfirming: route === confirming?.route }, t),
    error,
    async send() {
      if (current === null) return null
      if (isMoved) {
        setConfirming({ route: current, at: performance.now() })
        composition.setRoute(current)
        return null
      }
      // The second press of a double click cannot confirm: nobody has read the new target in that time.
      if (route !== null && route === confirming?.route && performance.now() - confirming.at < ARM_MS)
        return null
      return composition.send(async (written) => {
        if (current.route !== 'interaction') return store.send({ text: written, ...current })
        const { interactionId, questionIndex } = current
        const card = cards.getSnapshot().get(interactionId)
        // The gateway takes a text for the question that the log expects next, and does not know the other answers on
        // the card. If the card differs from the log, the card has to send the text together with its answers.
        if (!card || card.matchesLog) return store.send({ text: written, ...current })
        if (card.step !== questionIndex)
          throw new AskbackError('invalid_request', t('The card shows another question now.'))
        card.answer(written)
        return { routed: 'interaction', interactionId }
      })
    },
  }
}

function noticeFor(
  composer: { current: ComposerRoute | null; isMoved: boolean; isConfirming: boolean },
  t: Translate,
): string | null {
  if (composer.isMoved && composer.current === null) return `${t(MOVED)} ${t(CHOOSE)}`
  if (composer.isMoved) return `${t(MOVED)} ${t('Check where it goes now.')}`
  if (composer.current === null) return t(CHOOSE)
  return composer.isConfirming ? t('Press again to send it there.') : null
}

const MOVED = 'What you were replying to no longer waits for it, so your text was not sent.'
const CHOOSE = 'Choose what you are replying to.'
