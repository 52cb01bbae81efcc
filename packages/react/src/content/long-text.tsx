import { useEffect, useMemo, useState } from 'react'
import { bytes, count } from './amounts.js'
import { chunksOf } from './chunks.js'
import { useTellCutOff } from './cut-off.js'
import { ShownText } from './shown-text.js'

export interface LongTextProps {
  text: string
  /** Told whenever the whole text is on the page, or no longer is. */
  onComplete?: ((isComplete: boolean) => void) | undefined
  label?: string
}

const FIRST_CHUNKS = 8

/** Monospace text of any length. What is not drawn at once is counted, and one press away. */
export function LongText({ text, onComplete, label }: LongTextProps) {
  const chunks = useMemo(() => chunksOf(text), [text])
  const [shown, setShown] = useState(FIRST_CHUNKS)
  const isComplete = shown >= chunks.length
  useEffect(() => onComplete?.(isComplete), [onComplete, isComplete])
  useTellCutOff(!isComplete)

  const rest = isComplete ? 0 : chunks.slice(shown).reduce((sum, chunk) => sum + chunk.text.length, 0)
  return (
    <div className="ab-long-text">
      {/* A region that scrolls must be reachable by keys. */}
      <div className="ab-code-scroll" tabIndex={0} role="group" aria-label={label ?? 'Text'}>
        {chunks.slice(0, shown).map((chunk, index) => (
          <pre key={index} className="ab-chunk" data-continued={chunk.isContinued || undefined}>
            <ShownText text={chunk.text} as="code" />
          </pre>
        ))}
      </div>
      {!isComplete && (
        <button type="button" className="ab-show-rest" onClick={() => setShown(chunks.length)}>
          Show the remaining {count(rest, 'character')}
        </button>
      )}
    </div>
  )
}

/** "412 lines · 9.8 kB" */
export function sizeOf(text: string): string {
  // The last line break ends the last line.
  const lines = text === '' ? 0 : text.replace(/\n$/, '').split('\n').length
  return `${count(lines, 'line')} · ${bytes(text)}`
}
