import { shownFieldName, type Json } from '@askback/protocol'
import { ChevronRightIcon } from '../icons.js'
import { useState } from 'react'
import { useObstacle } from '../guard/card-guard.js'
import { useLabels } from '../labels.js'
import { SafeText } from './safe-text.js'
import { formatCount } from './text-labels.js'

export interface JsonTreeProps {
  value: Json
  name?: string | undefined
}

/** JSON as an open tree. Use `LongText` for large values. */
export function JsonTree({ value, name }: JsonTreeProps) {
  if (typeof value !== 'object' || value === null) {
    return (
      <div className="ab-json-row">
        <Name name={name} />
        <Scalar value={value} />
      </div>
    )
  }
  return <Branch value={value} name={name} />
}

function Branch({ value, name }: { value: Json[] | { [key: string]: Json }; name: string | undefined }) {
  const [isOpen, setOpen] = useState(true)
  const obstacle = useObstacle()
  const t = useLabels()
  const entries = Object.entries(value)
  const amount = Array.isArray(value)
    ? formatCount(t, entries.length, '{count} entry', '{count} entries')
    : formatCount(t, entries.length, '{count} field', '{count} fields')
  return (
    <div className="ab-json-branch">
      {name !== undefined && (
        <button
          // A closed branch hides input that takes effect, so the card can't be approved.
          ref={isOpen ? undefined : obstacle}
          type="button"
          className="ab-json-toggle"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <ChevronRightIcon aria-hidden />
          <SafeText text={shownFieldName(name)} as="code" />
          <span className="ab-quiet">{amount}</span>
        </button>
      )}
      {isOpen && (
        <div className={name === undefined ? undefined : 'ab-json-children'}>
          {entries.length === 0 && <span className="ab-quiet">{Array.isArray(value) ? '[ ]' : '{ }'}</span>}
          {entries.map(([key, item]) => (
            <JsonTree key={key} name={key} value={item} />
          ))}
        </div>
      )}
    </div>
  )
}

function Name({ name }: { name: string | undefined }) {
  if (name === undefined) return null
  return (
    <span className="ab-json-name">
      <SafeText text={shownFieldName(name)} as="code" />
    </span>
  )
}

function Scalar({ value }: { value: string | number | boolean | null }) {
  const type = value === null ? 'null' : typeof value
  return (
    <span className="ab-json-value" data-type={type}>
      {typeof value === 'string' ? <SafeText text={quotedIfNeeded(value)} as="code" /> : String(value)}
    </span>
  )
}

/** Quotes a string that would look like a number, a constant, or nothing. */
function quotedIfNeeded(text: string): string {
  const isPlain = text !== '' && text === text.trim() && !/^(?:true|false|null|-?\d+(?:\.\d+)?)$/.test(text)
  return isPlain ? text : JSON.stringify(text)
}
