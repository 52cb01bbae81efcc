import type { Outcome } from '@askback/client'
import {
  interaction as interactionSchema,
  type AskbackError,
  type Interaction,
  type Json,
} from '@askback/protocol'
import { useCallback, useState, useSyncExternalStore } from 'react'
import { useClient } from '../transport-provider.js'
import { useDeadline } from './use-deadline.js'

export type Phase =
  | 'pending'
  | 'submitting'
  /** The gateway cannot be reached: it is sent when that is back. */
  | 'queued'
  /** Refused; everything that was typed is still there. */
  | 'failed'
  | 'settled'

export interface InteractionControl {
  /** As far as it is known: one's own answer before the log tells of it. */
  interaction: Interaction
  phase: Phase
  /** Whether an answer may be given now. */
  canAnswer: boolean
  /** The answer that settled it came from here. */
  isOwn: boolean
  /** Why it failed, or why it still waits to be sent. */
  error: AskbackError | null
  respond: (answer: Json) => Promise<void>
  retry: () => void
}

/** How an interaction stands, and how to answer it; `open` is what the layout says of its controls. */
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
  // Between the end of the submission and the log there is a moment in which neither knows of the answer.
  const [isSending, setSending] = useState(false)
  const [outcome, setOutcome] = useState<{ interaction: Interaction; isOwn: boolean } | null>(null)
  const { isOver } = useDeadline(interaction)

  const take = (promise: Promise<Outcome>) => {
    setSending(true)
    return promise.then((result) => {
      const told = result.ok ? result.interaction : interactionIn(result.error)
      if (told?.status === 'settled') setOutcome({ interaction: told, isOwn: result.ok })
      // A reprompt takes this card's place as soon as the log tells of it.
      if (!told) setSending(false)
    })
  }

  const shown = interaction.status === 'settled' ? interaction : (outcome?.interaction ?? interaction)
  const phase = phaseOf()
  return {
    interaction: shown,
    phase,
    canAnswer: open && !isOver && (phase === 'pending' || phase === 'failed'),
    isOwn: outcome?.isOwn ?? false,
    error: submission?.error ?? null,
    respond: (answer) => take(outbox.submit({ sessionId, interactionId, answer, digest })),
    retry: () => {
      const again = outbox.retry(interactionId)
      if (again) void take(again)
    },
  }

  function phaseOf(): Phase {
    if (shown.status === 'settled') return 'settled'
    if (submission && submission.status !== 'sending') return submission.status
    return submission || isSending ? 'submitting' : 'pending'
  }
}

/** What a refusal shows: the answer that came first, or what was asked anew. */
function interactionIn({ details }: AskbackError): Interaction | null {
  if (typeof details !== 'object' || details === null || !('interaction' in details)) return null
  const parsed = interactionSchema.safeParse(details.interaction)
  return parsed.success ? parsed.data : null
}
