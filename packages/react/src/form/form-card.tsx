import { fieldsOf, type FormField, type FormRequest } from '@askback/protocol'
import { useId, useRef, type ReactNode } from 'react'
import { SafeText } from '../content/safe-text.js'
import { useCardGuard } from '../guard/card-guard.js'
import { GuardHint } from '../guard/must-see.js'
import { isSubmitKey, SubmitButton } from '../interaction/controls.js'
import { InteractionCard } from '../interaction/interaction-card.js'
import { FormInput, MAX_LISTED_OPTIONS } from './form-input.js'
import { valueOf } from './form-values.js'
import type { FormControl } from './use-form.js'
import { useLabels } from '../labels.js'

export interface FormCardProps {
  control: FormControl
  open: boolean
  icon: ReactNode
  title: string
  summary: ReactNode
  /** What is asked, above the fields. */
  children: ReactNode
}

/** A card with the fields of a form, and an error next to each field that needs one. It sends nothing while a field is wrong. */
export function FormCard({ control, open, icon, title, summary, children }: FormCardProps) {
  const t = useLabels()
  const guard = useCardGuard()
  const isReady = guard.isArmed && guard.isSeen
  const form = useRef<HTMLDivElement>(null)
  const idPrefix = useId()
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
      icon={icon}
      title={title}
      onRetry={submit}
      unsent={control.unsent}
      summary={summary}
      onKeyDown={(event) => {
        if (!isSubmitKey(event)) return
        event.preventDefault()
        submit()
      }}
    >
      {children}
      <div className="ab-form" ref={form}>
        {sectionsOf(request).map(({ title, fields }, index) => (
          <div key={index} className="ab-form-section">
            {title !== undefined && (
              <h3 className="ab-form-title" dir="auto">
                <SafeText text={title} />
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
          {t('Submit')}
        </SubmitButton>
        {wrong > 0 && canAnswer && (
          <span className="ab-field-error" role="alert">
            {t(wrong === 1 ? '{count} field needs another look.' : '{count} fields need another look.', {
              count: wrong,
            })}
          </span>
        )}
      </div>
      {canAnswer && <GuardHint guard={guard} enables={t('Submit')} />}
    </InteractionCard>
  )
}

/** The sections of a form, each field with its index in the whole form. */
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

export interface FormFieldRowProps {
  id: string
  /** Its index in the whole form. */
  at: number
  field: FormField
  control: FormControl
}

/** Choices are groups of controls, so their name can't be the label of a single one. */
const GROUP_TYPES = new Set<FormField['type']>(['radio', 'boolean', 'multiselect'])

/** A field with its name, description and error. */
function FormFieldRow({ id, at, field, control }: FormFieldRowProps) {
  const { name, label = name, description, required = false, type } = field
  const error = Object.hasOwn(control.errors, name) ? control.errors[name] : undefined
  const isGroup =
    GROUP_TYPES.has(type) || (type === 'select' && (field.options?.length ?? 0) > MAX_LISTED_OPTIONS)
  const describedBy = [description !== undefined && `${id}-about`, error !== undefined && `${id}-error`]
    .filter(Boolean)
    .join(' ')
  const title = (
    <>
      <SafeText text={label} />
      {required ? <span className="ab-required"> *</span> : null}
    </>
  )

  return (
    <div
      className="ab-field"
      data-field={at}
      data-type={type}
      data-wrong={error !== undefined || undefined}
      {...(isGroup && { role: 'group', 'aria-labelledby': `${id}-label` })}
    >
      {type !== 'checkbox' &&
        (isGroup ? (
          <span className="ab-field-label" id={`${id}-label`} dir="auto">
            {title}
          </span>
        ) : (
          <label className="ab-field-label" htmlFor={id} dir="auto">
            {title}
          </label>
        ))}
      <FormInput
        id={id}
        field={field}
        title={title}
        value={valueOf(control.values, name)}
        isDisabled={!control.canAnswer}
        isWrong={error !== undefined}
        describedBy={describedBy === '' ? undefined : describedBy}
        onChange={(value) => control.setValue(name, value)}
      />
      {description !== undefined && (
        <p className="ab-field-about" id={`${id}-about`} dir="auto">
          <SafeText text={description} />
        </p>
      )}
      {error !== undefined && (
        <p className="ab-field-error" id={`${id}-error`}>
          <SafeText text={error} />
        </p>
      )}
    </div>
  )
}
