import type { FormField, Json } from '@askback/protocol'
import { XIcon } from '../icons.js'
import { useDeferredValue, useMemo, useState } from 'react'
import { formatNumber } from '../content/text-labels.js'
import { useLabels } from '../labels.js'
import type { FormInputProps } from './form-input.js'
import { optionLabel } from './form-values.js'

type FieldOption = NonNullable<FormField['options']>[number]

const MAX_SHOWN_OPTIONS = 50

/**
 * A list of options that is too long to scroll. The person types and sees the first matches; chosen options stay on
 * top.
 */
export function OptionSearch(props: FormInputProps & { isMultiple: boolean }) {
  const t = useLabels()
  const { id, field, value, isDisabled, describedBy, onChange, isMultiple } = props
  const [query, setQuery] = useState('')
  const deferredQuery = useDeferredValue(query)
  const options = useMemo(
    () => (field.options ?? []).map((option) => ({ option, label: optionLabel(option) })),
    [field.options],
  )
  const matches = useMemo(() => {
    const words = deferredQuery.toLowerCase().trim()
    return words === '' ? options : options.filter(({ label }) => label.toLowerCase().includes(words))
  }, [options, deferredQuery])
  const chosen = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
  const hidden = matches.length - MAX_SHOWN_OPTIONS

  const toggle = ({ value: picked }: FieldOption) => {
    if (!isMultiple) return onChange(picked)
    const others = chosen.filter((each) => each !== picked)
    onChange(others.length < chosen.length ? others : [...chosen, picked])
  }

  return (
    <div className="ab-option-search" aria-describedby={describedBy}>
      <ChosenOptions
        options={options.filter(({ option }) => chosen.includes(option.value))}
        isDisabled={isDisabled}
        onRemove={({ value: removed }) =>
          onChange(isMultiple ? chosen.filter((each: Json) => each !== removed) : null)
        }
      />
      <input
        id={id}
        className="ab-input"
        type="search"
        value={query}
        disabled={isDisabled}
        placeholder={t('Search {count} options', { count: formatNumber(options.length) })}
        aria-label={t('Search the options')}
        onChange={(event) => setQuery(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return
          // Enter chooses the only match, and does not send the form.
          event.preventDefault()
          if (matches.length === 1) toggle(matches[0]!.option)
        }}
      />
      <div className="ab-option-matches">
        {matches.slice(0, MAX_SHOWN_OPTIONS).map(({ option, label }, index) => (
          <label key={index} className="ab-check" dir="auto">
            <input
              className="ab-option-input"
              type={isMultiple ? 'checkbox' : 'radio'}
              name={`${id}-match`}
              disabled={isDisabled}
              checked={chosen.includes(option.value)}
              onChange={() => toggle(option)}
            />
            <span>{label}</span>
          </label>
        ))}
        <p className="ab-hint" role="status">
          {matches.length === 0 && t('No option matches.')}
          {hidden > 0 &&
            t(
              hidden === 1
                ? '{count} more matches. Type to narrow the list.'
                : '{count} more match. Type to narrow the list.',
              { count: formatNumber(hidden) },
            )}
        </p>
      </div>
    </div>
  )
}

interface ChosenOptionsProps {
  options: { option: FieldOption; label: string }[]
  isDisabled: boolean
  onRemove: (option: FieldOption) => void
}

function ChosenOptions({ options, isDisabled, onRemove }: ChosenOptionsProps) {
  const t = useLabels()
  if (options.length === 0) return null
  return (
    <ul className="ab-chosen">
      {options.map(({ option, label }, index) => (
        <li key={index} className="ab-choice">
          {label}
          <button
            type="button"
            className="ab-icon-button"
            disabled={isDisabled}
            aria-label={t('Remove {option}', { option: label })}
            onClick={() => onRemove(option)}
          >
            <XIcon aria-hidden />
          </button>
        </li>
      ))}
    </ul>
  )
}
