import type { FormField } from '@askback/protocol'
import { ShownText } from '../content/shown-text.js'
import { FormInput } from './form-input.js'
import { valueOf } from './form-values.js'
import type { FormControl } from './use-form.js'

export interface FormFieldRowProps {
  id: string
  /** Its place in the form. */
  at: number
  field: FormField
  control: FormControl
}

/** Choices are a group of controls, so that their name cannot be the label of one. */
const GROUPS = new Set<FormField['type']>(['radio', 'boolean', 'multiselect'])

/** A field with its name, what is said about it, and what is wrong with it. */
export function FormFieldRow({ id, at, field, control }: FormFieldRowProps) {
  const { name, label = name, description, required = false, type } = field
  const error = Object.hasOwn(control.errors, name) ? control.errors[name] : undefined
  const isGroup = GROUPS.has(type) || (type === 'select' && (field.options?.length ?? 0) > 50)
  const describedBy = [description !== undefined && `${id}-about`, error !== undefined && `${id}-error`]
    .filter(Boolean)
    .join(' ')
  const title = (
    <>
      <ShownText text={label} />
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
          <ShownText text={description} />
        </p>
      )}
      {error !== undefined && (
        <p className="ab-field-error" id={`${id}-error`}>
          <ShownText text={error} />
        </p>
      )}
    </div>
  )
}
