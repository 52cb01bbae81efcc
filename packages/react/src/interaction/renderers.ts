import type { Interaction } from '@askback/protocol'
import { useSyncExternalStore, type ComponentType } from 'react'

/** The props of a component that draws interactions of a kind. */
export interface InteractionProps {
  interaction: Interaction
  /**
   * Whether its controls take an answer.
   *
   * @default while the interaction is pending
   */
  open?: boolean | undefined
}

/** A component that draws interactions of a kind. */
export type InteractionRenderer = ComponentType<InteractionProps>

const renderers = new Map<string, InteractionRenderer>()
const listeners = new Set<() => void>()

/**
 * Draws all interactions of a kind with your component, instead of the built-in one or the fallback that shows JSON.
 * If the component throws, the fallback is shown. Returns a function that removes it again.
 *
 * @example
 * registerRenderer('deploy', ({ interaction, open }) => <Deploy interaction={interaction} open={open} />)
 */
export function registerRenderer(kind: string, component: InteractionRenderer): () => void {
  renderers.set(kind, component)
  notifyListeners()
  return () => {
    if (renderers.get(kind) === component) renderers.delete(kind)
    notifyListeners()
  }
}

export function useRenderer(kind: string): InteractionRenderer | undefined {
  return useSyncExternalStore(
    subscribe,
    () => renderers.get(kind),
    () => renderers.get(kind),
  )
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function notifyListeners(): void {
  for (const listener of listeners) listener()
}
