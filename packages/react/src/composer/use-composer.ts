import type { Routed } from '@askback/client'
import { AskbackError, type Interaction } from '@askback/protocol'
import { useEffect, useRef, useState } from 'react'
import { kept } from '../kept.js'
import { useSession } from '../use-session.js'
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
  const key = `composer.${sessionId}`
  const [typed, setTyped] = useState({ key, text: kept.read(key) ?? '' })
  const [left, setLeft] = useState<string | null>(null)
  const [isSending, setSending] = useState(false)
  const [error, setError] = useState<AskbackError | null>(null)
  // Another session has another text.
  const text = typed.key === key ? typed.text : (kept.read(key) ?? '')
  const possible = view.state ? textTarget(view.state) : null
  const target = possible?.interaction.interactionId === left ? null : possible
  const latest = useRef({ key, text })
  latest.current = { key, text }

  useEffect(() => setError(null), [sessionId])

  const setText = (next: string) => {
    setTyped({ key, text: next })
    kept.write(key, next === '' ? null : next)
    setError(null)
  }

  return {
    text,
    setText,
    target,
    leave: () => setLeft(target?.interaction.interactionId ?? null),
    goBack: possible && !target ? () => setLeft(null) : null,
    canSend: text.trim() !== '' && !isSending && view.state !== null,
    isSending,
    error,
    async send() {
      if (text.trim() === '' || isSending) return null
      setSending(true)
      setError(null)
      try {
        const routed = await store.send({ text, ...routeTo(target) })
        const { current } = latest
        setText(current.key === key ? unsent(current.text, text) : '')
        return routed
      } catch (caught) {
        setError(caught instanceof AskbackError ? caught : new AskbackError('internal', String(caught)))
        return null
      } finally {
        setSending(false)
      }
    },
  }
}

/** What was typed while it was on its way stays. */
function unsent(now: string, sent: string): string {
  return now.startsWith(sent) ? now.slice(sent.length) : now
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
