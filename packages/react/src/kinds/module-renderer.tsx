import { isRecord, type Json } from '@askback/protocol'
import * as React from 'react'
import { useSyncExternalStore, type ComponentType, type ReactNode } from 'react'
import { ErrorBoundary } from '../content/error-boundary.js'
import { CustomKindPrompt } from '../form/custom-kind-prompt.js'
import { TriangleExclamationPointIcon } from '../icons.js'
import { ModuleCard, type ModuleRendererProps } from '../interaction/module-card.js'
import { useInteraction } from '../interaction/use-interaction.js'
import { useLabels } from '../labels.js'
import type { InteractionProps, InteractionRenderer } from '../renderers.js'

/** A module that takes longer than this to load is not used: the request must be answerable on any network. */
const LOAD_TIMEOUT_MS = 10_000

/** What a module that draws a kind gets to build its component with. It must not import another React. */
export interface RendererTools {
  React: typeof React
}

/**
 * The default export of an ES module that draws a kind: a function that makes the component.
 *
 * @example
 * // time-slot.js, named in the settings: renderers: { time_slot: './time-slot.js' }
 * export default ({ React }) =>
 *   function TimeSlot({ request, answer, onChange, canAnswer }) {
 *     return request.slots.map((slot) =>
 *       React.createElement('label', { key: slot },
 *         React.createElement('input', {
 *           type: 'radio', name: 'slot', disabled: !canAnswer,
 *           checked: answer?.slot === slot, onChange: () => onChange({ slot }),
 *         }), ' ', slot))
 *   }
 */
export type RendererModule<Request = Json, Answer = Json> = (
  tools: RendererTools,
) => ComponentType<ModuleRendererProps<Request, Answer>>

/**
 * A renderer whose component comes from an ES module. The module is imported when the first request of its kind is shown. If it cannot be
 * loaded within 10 seconds, or throws while drawing, the form that the gateway makes of the kind's schema takes its place.
 *
 * @example
 * const TimeSlot = moduleRenderer(() => import('./time-slot.js'), 'Time slot')
 * <AskbackProvider url={url} renderers={{ time_slot: TimeSlot }}>…</AskbackProvider>
 */
export function moduleRenderer(load: () => Promise<unknown>, title: string): InteractionRenderer {
  const loader = new ModuleLoader(load)

  function ModuleInteraction({ interaction, open = interaction.status === 'pending' }: InteractionProps) {
    const t = useLabels()
    const control = useInteraction(interaction, open)
    const state = useSyncExternalStore(loader.subscribe, loader.read, loader.read)
    const fallback = (reason: string) => <Fallback interaction={interaction} open={open} reason={reason} />
    // The definition may have gone while this page was open. The general form says so, and can cancel the request.
    if (control.error?.code === 'unknown_kind')
      return <CustomKindPrompt interaction={interaction} open={open} />
    if (state.status === 'failed')
      return fallback(t('The drawing of this kind could not be loaded, so this is its general form.'))
    return (
      <ErrorBoundary fallback={fallback(t('The drawing of this kind failed, so this is its general form.'))}>
        <ModuleCard
          interaction={interaction}
          control={control}
          open={open}
          title={title}
          component={state.status === 'loaded' ? state.component : null}
        />
      </ErrorBoundary>
    )
  }
  return ModuleInteraction
}

function Fallback({ interaction, open, reason }: Required<InteractionProps> & { reason: string }): ReactNode {
  return (
    <div className="ab-with-notice">
      {open && (
        <p className="ab-notice" role="status">
          <TriangleExclamationPointIcon aria-hidden />
          {reason}
        </p>
      )}
      <CustomKindPrompt interaction={interaction} open={open} />
    </div>
  )
}

type ModuleState =
  | { status: 'loading' }
  | { status: 'loaded'; component: ComponentType<ModuleRendererProps> }
  | { status: 'failed' }

/** Imports a module once, for all cards of its kind. */
class ModuleLoader {
  readonly #load: () => Promise<unknown>
  readonly #listeners = new Set<() => void>()
  #state: ModuleState = { status: 'loading' }
  #isStarted = false

  constructor(load: () => Promise<unknown>) {
    this.#load = load
  }

  readonly read = (): ModuleState => this.#state

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    if (!this.#isStarted) void this.#start()
    return () => this.#listeners.delete(listener)
  }

  async #start(): Promise<void> {
    this.#isStarted = true
    try {
      this.#state = { status: 'loaded', component: componentOf(await inTime(this.#load())) }
    } catch (error) {
      // oxlint-disable-next-line no-console -- for the author of the module; the page goes on without it
      console.error('The module that draws a kind could not be used.', error)
      this.#state = { status: 'failed' }
    }
    for (const listener of this.#listeners) listener()
  }
}

async function inTime(module: Promise<unknown>): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const isLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('It did not load in time.')), LOAD_TIMEOUT_MS)
  })
  try {
    return await Promise.race([module, isLate])
  } finally {
    clearTimeout(timer)
  }
}

function componentOf(module: unknown): ComponentType<ModuleRendererProps> {
  const make = isRecord(module) ? module['default'] : undefined
  if (typeof make !== 'function')
    throw new Error('Its default export must be a function that returns a component.')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- code of the operator; what it returns is checked below
  const component = (make as RendererModule)({ React })
  if (typeof component !== 'function') throw new Error('Its default export must return a component.')
  return component
}
