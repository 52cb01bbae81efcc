import type { FormField, Json } from '@askback/protocol'
import { useState, type InputHTMLAttributes, type ReactNode } from 'react'
import { optionLabel } from './form-values.js'
import { OptionSearch } from './option-search.js'
import { useLabels } from '../labels.js'

export interface FormInputProps {
  id: string
  field: FormField
  title: ReactNode
  value: Json | undefined
  isDisabled: boolean
  isWrong: boolean
  describedBy: string | undefined
  onChange: (value: Json) => void
}

/** More options than this are searched instead of listed. */
export const MAX_LISTED_OPTIONS = 50
/** More options of a multiple choice than this are searched instead of shown as checkboxes. */
const MAX_CHECKBOXES = 8

/** The control of one field. It keeps what was typed as text; numbers are converted when they are sent. */
export function FormInput(props: FormInputProps) {
  const t = useLabels()
  const { id, field, title, value, isDisabled, isWrong, describedBy, onChange } = props
  const options = field.options ?? []
  const shared = {
    id,
    disabled: isDisabled,
    'aria-invalid': isWrong,
    'aria-describedby': describedBy,
    'aria-required': field.required,
  }
  switch (field.type) {
    case 'text':
    case 'date':
    case 'time':
    case 'datetime':
      return <LineInput {...shared} type={field.type} text={textOf(value)} onChange={onChange} />
    case 'number':
      return (
        <input
          {...shared}
          className="ab-input"
          type="text"
          inputMode="decimal"
          value={textOf(value)}
          autoComplete="off"
          onChange={(event) => onChange(event.target.value)}
        />
      )
    case 'textarea':
      return (
        <textarea
          {...shared}
          className="ab-input"
          dir="auto"
          rows={Math.min(14, Math.max(3, textOf(value).split('\n').length + 1))}
          value={textOf(value)}
          onChange={(event) => onChange(event.target.value)}
        />
      )
    case 'checkbox':
      return (
        <label className="ab-check" dir="auto">
          <input
            {...shared}
            className="ab-option-input"
            type="checkbox"
            checked={value === true}
            onChange={(event) => onChange(event.target.checked)}
          />
          <span>{title}</span>
        </label>
      )
    case 'boolean':
      return (
        <RadioList
          {...props}
          options={[
            { value: true, label: t('Yes') },
            { value: false, label: t('No') },
          ]}
        />
      )
    case 'radio':
      return options.length > MAX_LISTED_OPTIONS ? (
        <OptionSearch {...props} isMultiple={false} />
      ) : (
        <RadioList {...props} options={options} />
      )
    case 'select':
      if (options.length > MAX_LISTED_OPTIONS) return <OptionSearch {...props} isMultiple={false} />
      return (
        <select
          {...shared}
          className="ab-input"
          value={options.findIndex((option) => option.value === value)}
          onChange={(event) => onChange(options[Number(event.target.value)]?.value ?? null)}
        >
          <option value={-1}>{t('Choose…')}</option>
          {options.map((option, index) => (
            <option key={index} value={index}>
              {optionLabel(option)}
            </option>
          ))}
        </select>
      )
    case 'multiselect':
      return options.length > MAX_CHECKBOXES ? (
        <OptionSearch {...props} isMultiple />
      ) : (
        <CheckboxList {...props} options={options} />
      )
    default:
      return field.type satisfies never
  }
}

type FieldOptions = NonNullable<FormField['options']>

function RadioList({
  id,
  options,
  value,
  isDisabled,
  describedBy,
  onChange,
}: FormInputProps & { options: FieldOptions }) {
  return (
    <div className="ab-choices" aria-describedby={describedBy}>
      {options.map((option, index) => (
        <label key={index} className="ab-check" dir="auto">
          <input
            className="ab-option-input"
            type="radio"
            name={id}
            disabled={isDisabled}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span>{optionLabel(option)}</span>
        </label>
      ))}
    </div>
  )
}

function CheckboxList({
  options,
  value,
  isDisabled,
  describedBy,
  onChange,
}: FormInputProps & { options: FieldOptions }) {
  const chosen = Array.isArray(value) ? value : []
  return (
    <div className="ab-choices" aria-describedby={describedBy}>
      {options.map((option, index) => (
        <label key={index} className="ab-check" dir="auto">
          <input
            className="ab-option-input"
            type="checkbox"
            disabled={isDisabled}
            checked={chosen.includes(option.value)}
            onChange={(event) => {
              const others = chosen.filter((each) => each !== option.value)
              onChange(event.target.checked ? [...others, option.value] : others)
            }}
          />
          <span>{optionLabel(option)}</span>
        </label>
      ))}
    </div>
  )
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

export interface LineInputProps extends Pick<
  InputHTMLAttributes<HTMLElement>,
  'id' | 'disabled' | 'aria-invalid' | 'aria-describedby' | 'aria-required'
> {
  type: 'text' | 'date' | 'time' | 'datetime'
  text: string
  onChange: (text: string) => void
}

const nativeTypes = { text: 'text', date: 'date', time: 'time', datetime: 'datetime-local' } as const

/**
 * A text, date or time. A value that the native control cannot hold is shown in a text field, as the control would
 * drop it and it would be sent unseen.
 */
function LineInput({ type, text, onChange, ...shared }: LineInputProps) {
  const native = nativeTypes[type]
  // Stays set while the control is mounted: a control must not change its type while the person types.
  const [isPlainText, setPlainText] = useState(false)
  if (!isPlainText && !canHold(native, text)) setPlainText(true)

  const control = {
    ...shared,
    className: 'ab-input',
    dir: 'auto',
    value: text,
    autoComplete: 'off',
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  }
  if (isPlainText && type === 'text') return <textarea {...control} rows={text.split('\n').length} />
  return <input {...control} type={isPlainText ? 'text' : native} />
}

/** Native controls drop the line breaks of a text, and a date that they cannot parse. */
function canHold(type: (typeof nativeTypes)[keyof typeof nativeTypes], text: string): boolean {
  if (type === 'text') return !/[\r\n]/.test(text)
  const control = document.createElement('input')
  control.type = type
  control.value = text
  return text === '' || control.value !== ''
}
