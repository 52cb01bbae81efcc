import type { Routed } from '@askback/client'
import type { AskbackError, Interaction } from '@askback/protocol'
import { useState } from 'react'
import { useClient } from '../transport-provider.js'
import { useSession, useStore } from '../use-session.js'
import { compositionOf } from './composition.js'
import { textTarget, type TextTarget } from './text-target.js'

export interface ComposerControl {
  text: string
  setText: (text: string) => void
  /** What the text answers; `null` if it goes to the agent. */
  target: TextTarget | null
  /** Sends the text to the agent instead, until something else is asked. */
  leave: () => void
  /** Goes back to answering; `null` if there is nothing that takes a text. */
  goBack: (() => void) | null
  canSend: boolean
  isSending: boolean
  error: AskbackError | null
  send: () => Promise<Routed | null>
}

/** What somebody types to a session. It goes where `target` says, and nowhere else, whatever happens meanwhile. */
export function useComposer(sessionId: string): ComposerControl {
  const { view, store } = useSession(sessionId)
  const composition = compositionOf(useClient(), sessionId)
  const { text, isSending, error } = useStore(composition)
  const [left, setLeft] = useState<string | null>(null)
  const possible = view.state ? textTarget(view.state) : null
  const target = possible?.interaction.interactionId === left ? null : possible

  return {
    text,
    setText: composition.setText,
    target,
    leave: () => setLeft(target?.interaction.interactionId ?? null),
    goBack: possible && !target ? () => setLeft(null) : null,
    canSend: text.trim() !== '' && !isSending && view.state !== null,
    isSending,
    error,
    send: () => composition.send((written) => store.send({ text: written, ...routeTo(target) })),
  }
}

function routeTo(target: TextTarget | null) {
  if (!target) return { route: 'agent' as const }
  const { interactionId }: Interaction = target.interaction
  const { questionIndex } = target
  return {
    route: 'interaction' as const,
    interactionId,
    ...(questionIndex !== undefined && { questionIndex }),
  }
}
