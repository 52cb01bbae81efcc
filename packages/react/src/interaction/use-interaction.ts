import type { SubmissionResult } from '@askback/client'
import { interactionInError, type AskbackError, type Interaction, type Json } from '@askback/protocol'
import { useCallback, useState, useSyncExternalStore } from 'react'
import { useClient } from '../askback-provider.js'
import { useDeadline } from './use-deadline.js'

/**
 * The state of an answer on this page.
 *
 *   pending --respond--> submitting --accepted--> settled
 *   submitting --refused--> failed --retry--> submitting
 *   submitting --gateway unreachable--> queued --reachable again--> submitting
 *   any --settled elsewhere--> settled
 */
export type AnswerPhase =
  | 'pending'
  | 'submitting'
  /** The gateway can't be reached; the answer is sent when it is back. */
  | 'queued'
  /** The gateway refused the answer; what was typed is still there. */
  | 'failed'
  | 'settled'

/** What `useInteraction` returns: the state of an interaction, and how to answer it. */
export interface InteractionControl {
  /** The interaction with the latest known settlement. An answer of this page is included before it is in the log. */
  interaction: Interaction
  phase: AnswerPhase
  /** Whether an answer may be given now. */
  canAnswer: boolean
  /** Whether the answer that settled it was given on this page. */
  isOwn: boolean
  /** Why the answer was refused, or why it waits to be sent. */
  error: AskbackError | null
  /** Sends an answer. It never rejects: a failure is in `phase` and `error`. */
  respond: (answer: Json) => Promise<void>
  /** Sends the refused answer again. */
  retry: () => void
}

/** What a card needs of a control, whatever its answers look like. */
export type InteractionCardControl = Omit<InteractionControl, 'respond'>

/**
 * Follows an interaction and answers it. `open` says whether its controls take an answer, as the layout of the
 * session does; without it, while the interaction is pending. Answers are sent by the client's outbox, which repeats
 * them while the gateway can't be reached.
 *
 * @example
 * const { canAnswer, respond, phase } = useInteraction(interaction)
 * return <button disabled={!canAnswer} onClick={() => void respond({ color: 'red' })}>{phase}</button>
 */
export function useInteraction(
  interaction: Interaction,
  open: boolean = interaction.status === 'pending',
): InteractionControl {
  const { outbox } = useClient()
  const { sessionId, interactionId, digest } = interaction
  const submission = useSyncExternalStore(
    useCallback((listener) => outbox.on(listener), [outbox]),
    () => outbox.of(sessionId).get(interactionId),
    () => undefined,
  )
  // Between the end of the submission and the arrival of its event, neither the outbox nor the log knows the answer.
  const [isSending, setSending] = useState(false)
  const [settled, setSettled] = useState<{ interaction: Interaction; isOwn: boolean } | null>(null)
  const { isOver } = useDeadline(interaction)

  const track = (promise: Promise<SubmissionResult>) => {
    setSending(true)
    return promise.then((result) => {
      const latest = result.ok ? result.interaction : interactionInError(result.error)
      if (latest?.status === 'settled') setSettled({ interaction: latest, isOwn: result.ok })
      // With an interaction in the reply, the card stays in `submitting` until the event arrives: it is settled, or a
      // reprompt replaces it.
      if (!latest) setSending(false)
    })
  }

  const shown = interaction.status === 'settled' ? interaction : (settled?.interaction ?? interaction)
  const phase = phaseOf()
  return {
    interaction: shown,
    phase,
    canAnswer: open && !isOver && (phase === 'pending' || phase === 'failed'),
    isOwn: settled?.isOwn ?? false,
    error: submission?.error ?? null,
    respond: (answer) => track(outbox.submit({ sessionId, interactionId, answer, digest })),
    retry: () => {
      const again = outbox.retry(interactionId)
      if (again) void track(again)
    },
  }

  function phaseOf(): AnswerPhase {
    if (shown.status === 'settled') return 'settled'
    if (submission && submission.status !== 'sending') return submission.status
    return submission || isSending ? 'submitting' : 'pending'
  }
}
