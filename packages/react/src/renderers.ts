import type { Interaction } from '@askback/protocol'
import { createContext, useContext, type ComponentType } from 'react'

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

/** A component that draws interactions of a kind: one of your own, or what `defineRenderer` returns. */
export type InteractionRenderer = ComponentType<InteractionProps>

/** Components by the kind that they draw. They replace the built-in ones, and the fallback that shows JSON. */
export type Renderers = Readonly<Record<string, InteractionRenderer>>

/** Provided by `AskbackProvider`. */
export const RenderersContext = createContext<Renderers>({})

export function useRenderer(kind: string): InteractionRenderer | undefined {
  const renderers = useContext(RenderersContext)
  // A kind may have the name of a method that every object has.
  return Object.hasOwn(renderers, kind) ? renderers[kind] : undefined
}
