import type { Routed } from '@askback/client'
import type { AskbackError } from '@askback/protocol'
import { useEffect, useState } from 'react'
import { ARM_MS } from '../interaction/use-armed.js'
import { useClient } from '../transport-provider.js'
import { useSession, useStore } from '../use-session.js'
import { aimAt, targetOf, TO_AGENT, type Aim } from './aim.js'
import { compositionOf } from './composition.js'
import { textTargets, type TextTarget } from './text-target.js'

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
  /** What somebody must know who is about to send: the text was begun for something else than `target`. */
  notice: string | null
  error: AskbackError | null
  /** Where the text was begun for something else, the first call sends nothing: it takes `target` for it. */
  send: () => Promise<Routed | null>
}

const NONE: ReadonlySet<string> = new Set<string>()

/** What somebody types to a session. It goes where `target` says, and nowhere else, whatever happens meanwhile. */
export function useComposer(sessionId: string): ComposerControl {
  const { view, store } = useSession(sessionId)
  const composition = compositionOf(useClient(), sessionId)
  const { text, aim, isSending, error } = useStore(composition)
  const [left, setLeft] = useState(NONE)
  const [confirmed, setConfirmed] = useState<{ aim: Aim; at: number } | null>(null)
  useEffect(
    () => (view.connection === 'offline' ? composition.forgetOutage : undefined),
    [composition, view.connection],
  )

  const targets = view.state ? textTargets(view.state) : []
  const next = targets.find(({ interaction }) => !left.has(interaction.interactionId)) ?? null
  // What one writes is for what one saw when one began.
  const begun = text === '' ? next : targetOf(aim, targets)
  const isMoved = begun === undefined && view.state !== null
  const target = begun === undefined ? next : begun

  return {
    text,
    setText: (value) => composition.setText(value, aimAt(next)),
    target,
    leave() {
      setLeft(new Set(targets.map(({ interaction }) => interaction.interactionId)))
      composition.aim(TO_AGENT)
    },
    goBack:
      targets.length === 0 || target !== null
        ? null
        : () => {
            setLeft(NONE)
            composition.aim(aimAt(targets[0]!))
          },
    canSend: text.trim() !== '' && !isSending && view.state !== null,
    isSending,
    notice: isMoved ? MOVED : text !== '' && aim === confirmed?.aim ? CONFIRM : null,
    error,
    async send() {
      const to = aimAt(target)
      if (isMoved) {
        setConfirmed({ aim: to, at: performance.now() })
        composition.aim(to)
        return null
      }
      // The second half of a double press is no look at where it goes.
      if (aim === confirmed?.aim && performance.now() - confirmed.at < ARM_MS) return null
      return composition.send((written) => store.send({ text: written, ...to }))
    },
  }
}

const MOVED =
  'What you were answering no longer waits for that. Your text was not sent: see where it goes now.'
const CONFIRM = 'Press again to send it there.'
