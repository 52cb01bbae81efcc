import { fieldsOf, type FormField, type FormRequest } from '@askback/protocol'
import { ClipboardList } from 'lucide-react'
import { useId, useRef } from 'react'
import { count } from '../content/amounts.js'
import { Markdown } from '../content/markdown.js'
import { ShownText } from '../content/shown-text.js'
import { useCardGuard } from '../guard/card-guard.js'
import { GuardHint } from '../guard/must-see.js'
import { InteractionCard } from '../interaction/interaction-card.js'
import { isSubmitKey } from '../interaction/keys.js'
import type { InteractionProps } from '../interaction/renderers.js'
import { SubmitButton } from '../interaction/submit-button.js'
import { UnknownInteraction } from '../interaction/unknown-interaction.js'
import { FormFieldRow } from './form-field.js'
import { FormSummary } from './form-summary.js'
import { useForm } from './use-form.js'

export function FormPrompt({ interaction, open = interaction.status === 'pending' }: InteractionProps) {
  const control = useForm(interaction, open)
  const guard = useCardGuard()
  const isReady = guard.isArmed && guard.isSeen
  const form = useRef<HTMLDivElement>(null)
  const idPrefix = useId()
  if (!control) return <UnknownInteraction interaction={interaction} open={open} />
  const { request, visible, errors, canAnswer } = control
  const wrong = Object.keys(errors).length

  const submit = () => {
    if (!isReady) return
    const first = control.submit()
    if (first === null) return
    const index = fieldsOf(request.schema).findIndex(({ name }) => name === first)
    const row = form.current?.querySelector(`[data-field="${index}"]`)
    row?.querySelector<HTMLElement>('input, select, textarea, button')?.focus()
  }

  return (
    <InteractionCard
      control={control}
      open={open}
      guard={guard}
      icon={<ClipboardList />}
      title="A form to fill in"
      onRetry={submit}
      unsent={control.unsent}
      summary={<FormSummary interaction={control.interaction} request={request} />}
      onKeyDown={(event) => {
        if (!isSubmitKey(event)) return
        event.preventDefault()
        submit()
      }}
    >
      {request.message !== '' && (
        <div className="ab-form-message">
          <Markdown text={request.message} />
        </div>
      )}
      <div className="ab-form" ref={form}>
        {sectionsOf(request).map(({ title, fields }, index) => (
          <div key={index} className="ab-form-section">
            {title !== undefined && (
              <h3 className="ab-form-title" dir="auto">
                <ShownText text={title} />
              </h3>
            )}
            {fields.map(
              ({ field, at }) =>
                visible.has(field) && (
                  <FormFieldRow
                    key={field.name}
                    id={`${idPrefix}-${at}`}
                    at={at}
                    field={field}
                    control={control}
                  />
                ),
            )}
          </div>
        ))}
      </div>
      <div className="ab-card-footer">
        <SubmitButton control={control} disabled={!isReady} onPress={submit}>
          Submit
        </SubmitButton>
        {wrong > 0 && canAnswer && (
          <span className="ab-field-error" role="alert">
            {count(wrong, 'field needs', 'fields need')} another look.
          </span>
        )}
      </div>
      {canAnswer && <GuardHint guard={guard} enables="Submit" />}
    </InteractionCard>
  )
}

/** Each field with its place in the whole form. */
function sectionsOf({ schema }: FormRequest): {
  title?: string | undefined
  fields: { field: FormField; at: number }[]
}[] {
  let at = 0
  const sections = schema.sections ?? [{ fields: schema.fields ?? [] }]
  return sections.map((section) => ({
    title: 'title' in section ? section.title : undefined,
    fields: section.fields.map((field) => ({ field, at: at++ })),
  }))
}
