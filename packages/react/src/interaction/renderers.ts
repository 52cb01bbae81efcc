import type { Interaction } from '@askback/protocol'
import { useSyncExternalStore, type ComponentType } from 'react'

export interface InteractionProps {
  interaction: Interaction
  /** Whether its controls take an answer; `Card.open` of the layout. */
  open?: boolean | undefined
}

export type InteractionRenderer = ComponentType<InteractionProps>

const renderers = new Map<string, InteractionRenderer>()
const listeners = new Set<() => void>()

/** Draws interactions of a kind, one of your own or one of ours, with your component. Returns how to take it back. */
export function registerRenderer(kind: string, component: InteractionRenderer): () => void {
  renderers.set(kind, component)
  tell()
  return () => {
    if (renderers.get(kind) === component) renderers.delete(kind)
    tell()
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

function tell(): void {
  for (const listener of listeners) listener()
}
