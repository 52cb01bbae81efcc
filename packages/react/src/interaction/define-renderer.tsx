import { copyJson, type Interaction } from '@askback/protocol'
import { useMemo, type ComponentType } from 'react'
import type { InteractionProps, InteractionRenderer } from '../renderers.js'
import { UnknownInteraction } from './unknown-interaction.js'
import { useInteraction, type InteractionCardControl } from './use-interaction.js'

/** The part of a Standard Schema (standardschema.dev) that a renderer needs. */
interface RendererSchema<Output> {
  readonly '~standard': {
    readonly validate: (
      value: unknown,
    ) =>
      | { readonly value: Output; readonly issues?: undefined }
      | { readonly issues: readonly unknown[] }
      | Promise<unknown>
    readonly types?: { readonly output: Output } | undefined
  }
}

/** The part of the definition of a kind that a renderer needs. What `defineInteraction` of `@askback/core` returns fits. */
export interface RenderedKind<Request, Answer> {
  readonly kind: string
  readonly request: RendererSchema<Request>
  readonly answer: RendererSchema<Answer>
}

/** The props of a component for `defineRenderer`. */
export interface RendererProps<Request, Answer> {
  interaction: Interaction
  /** Whether its controls take an answer. */
  open: boolean
  /** The request, validated by the schema of its kind. */
  request: Request
  control: InteractionCardControl & {
    /** Sends an answer. It rejects only if the answer is not JSON: any other failure is in `phase` and `error`. */
    respond: (answer: Answer) => Promise<void>
  }
}

/**
 * Makes a renderer whose request and answer have the types of a kind. A request that does not fit the schema of the kind is shown as
 * JSON.
 *
 * @example
 * const TimeSlot = defineRenderer(timeSlot, ({ request, control, open }) => (
 *   <InteractionCard control={control} open={open} icon="🕘" title="When does it suit you?">
 *     {request.slots.map((slot) => (
 *       <SubmitButton key={slot} control={control} onPress={() => void control.respond({ slot })}>
 *         {slot}
 *       </SubmitButton>
 *     ))}
 *   </InteractionCard>
 * ))
 * root.render(<AskbackProvider url={url} renderers={{ time_slot: TimeSlot }}>…</AskbackProvider>)
 */
export function defineRenderer<Request, Answer>(
  kind: RenderedKind<Request, Answer>,
  component: ComponentType<RendererProps<Request, Answer>>,
): InteractionRenderer {
  const Component = component

  function KindRenderer({ interaction, open = interaction.status === 'pending' }: InteractionProps) {
    const control = useInteraction(interaction, open)
    const valid = useMemo(() => validated(kind.request, interaction.request), [interaction.request])
    if (!valid) return <UnknownInteraction interaction={interaction} open={open} />
    // The gateway checks the answer with the schema of the kind.
    const respond = async (answer: Answer) => control.respond(copyJson(answer, 'The answer'))
    return (
      <Component
        interaction={control.interaction}
        open={open}
        request={valid.value}
        control={{ ...control, respond }}
      />
    )
  }
  KindRenderer.displayName = `Renderer(${kind.kind})`
  return KindRenderer
}

/** `null` if the value does not fit, or if the schema is asynchronous, which a kind's must not be. */
function validated<Output>(schema: RendererSchema<Output>, value: unknown): { value: Output } | null {
  const result = schema['~standard'].validate(value)
  return result instanceof Promise || result.issues ? null : result
}
