import type { InputHTMLAttributes } from 'react'
import { useState } from 'react'

export interface LineInputProps extends Pick<
  InputHTMLAttributes<HTMLElement>,
  'id' | 'disabled' | 'aria-invalid' | 'aria-describedby' | 'aria-required'
> {
  type: 'text' | 'date' | 'time' | 'datetime'
  text: string
  onChange: (text: string) => void
}

const nativeTypes = { text: 'text', date: 'date', time: 'time', datetime: 'datetime-local' } as const

/** A text, a date or a time. What its control cannot hold is shown as it is: it would be sent unseen. */
export function LineInput({ type, text, onChange, ...shared }: LineInputProps) {
  const native = nativeTypes[type]
  // For as long as it is there: a control must not change while somebody types.
  const [isRaw, setRaw] = useState(false)
  if (!isRaw && !canHold(native, text)) setRaw(true)

  const control = {
    ...shared,
    className: 'ab-input',
    dir: 'auto',
    value: text,
    autoComplete: 'off',
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  }
  if (isRaw && type === 'text') return <textarea {...control} rows={text.split('\n').length} />
  return <input {...control} type={isRaw ? 'text' : native} />
}

/** A control drops the line breaks of a text, and all of a date that it cannot read. */
function canHold(type: (typeof nativeTypes)[keyof typeof nativeTypes], text: string): boolean {
  if (type === 'text') return !/[\r\n]/.test(text)
  const control = document.createElement('input')
  control.type = type
  control.value = text
  return text === '' || control.value !== ''
}
