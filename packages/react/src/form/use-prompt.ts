import { asAskbackError, type AskbackError, type Interaction, type KindPrompt } from '@askback/protocol'
import { useCallback, useEffect, useState } from 'react'
import { useClient } from '../askback-provider.js'

/** What is known of how to ask for the answer to an interaction of a custom kind. */
export type PromptState =
  | { status: 'loading' }
  | { status: 'ready'; prompt: KindPrompt }
  /** The gateway does not have the kind any more. */
  | { status: 'unanswerable'; reason: string }
  | { status: 'failed'; error: AskbackError }
  /** The transport, or an older gateway, makes no forms for custom kinds. */
  | { status: 'unsupported' }

/** Loads the form for an interaction of a custom kind from the gateway, and again with `reload`. */
export function usePrompt({ sessionId, interactionId }: Interaction): PromptState & { reload: () => void } {
  const { transport } = useClient()
  const [state, setState] = useState<PromptState>({
    status: transport.prompt ? 'loading' : 'unsupported',
  })
  const [attempt, setAttempt] = useState(0)
  const reload = useCallback(() => setAttempt((count) => count + 1), [])

  useEffect(() => {
    let isOutdated = false
    void load().then((loaded) => !isOutdated && setState(loaded))
    return () => {
      isOutdated = true
    }

    async function load(): Promise<PromptState> {
      if (!transport.prompt) return { status: 'unsupported' }
      try {
        const found = await transport.prompt(sessionId, interactionId)
        return found.prompt
          ? { status: 'ready', prompt: found.prompt }
          : { status: 'unanswerable', reason: found.reason }
      } catch (error) {
        const failure = asAskbackError(error)
        return failure.code === 'not_found' ? { status: 'unsupported' } : { status: 'failed', error: failure }
      }
    }
  }, [transport, sessionId, interactionId, attempt])

  useEffect(() => {
    window.addEventListener('online', reload)
    return () => window.removeEventListener('online', reload)
  }, [reload])

  return { ...state, reload }
}
