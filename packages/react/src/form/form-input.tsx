import type { FormField, Json } from '@askback/protocol'
import type { ReactNode } from 'react'
import { LineInput } from './line-input.js'
import { optionLabel } from './option-label.js'
import { OptionSearch } from './option-search.js'

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

/** More options than this are searched, not scrolled. */
const MANY = 50
const SHORT_LIST = 8

/** The control of one field. It keeps what was typed as it was typed; numbers become numbers when they are sent. */
export function FormInput(props: FormInputProps) {
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
        <Radios
          {...props}
          options={[
            { value: true, label: 'Yes' },
            { value: false, label: 'No' },
          ]}
        />
      )
    case 'radio':
      return options.length > MANY ? (
        <OptionSearch {...props} isMultiple={false} />
      ) : (
        <Radios {...props} options={options} />
      )
    case 'select':
      if (options.length > MANY) return <OptionSearch {...props} isMultiple={false} />
      return (
        <select
          {...shared}
          className="ab-input"
          value={options.findIndex((option) => option.value === value)}
          onChange={(event) => onChange(options[Number(event.target.value)]?.value ?? null)}
        >
          <option value={-1}>Choose…</option>
          {options.map((option, index) => (
            <option key={index} value={index}>
              {optionLabel(option)}
            </option>
          ))}
        </select>
      )
    case 'multiselect':
      return options.length > SHORT_LIST ? (
        <OptionSearch {...props} isMultiple />
      ) : (
        <Checks {...props} options={options} />
      )
    default:
      return field.type satisfies never
  }
}

type Choices = NonNullable<FormField['options']>

function Radios({
  id,
  options,
  value,
  isDisabled,
  describedBy,
  onChange,
}: FormInputProps & { options: Choices }) {
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

function Checks({
  options,
  value,
  isDisabled,
  describedBy,
  onChange,
}: FormInputProps & { options: Choices }) {
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
