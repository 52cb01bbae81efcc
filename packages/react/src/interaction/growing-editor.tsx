import { useLayoutEffect, useRef } from 'react'
import { useMustSee } from '../guard/card-guard.js'

export interface GrowingEditorProps {
  text: string
  leastRows: number
  label: string
  dir?: 'auto'
  autoFocus: boolean
  disabled: boolean
  errorId?: string | undefined
  onChange: (text: string) => void
}

/**
 * A text field that is as high as its text, as one that scrolls would hide most of it. All of it must have been on screen:
 * what the agent wrote stays in it wherever the person changes nothing.
 */
export function GrowingEditor(props: GrowingEditorProps) {
  const { text, leastRows, label, dir, autoFocus, disabled, errorId, onChange } = props
  const field = useRef<HTMLTextAreaElement>(null)

  useLayoutEffect(() => {
    const element = field.current
    if (!element) return
    const frame = element.parentElement
    const fit = () => {
      // Without this the page would be shorter for a moment, and scroll.
      if (frame) frame.style.minHeight = `${frame.offsetHeight}px`
      element.style.height = 'auto'
      element.style.height = `${element.scrollHeight + element.offsetHeight - element.clientHeight}px`
      if (frame) frame.style.minHeight = ''
    }
    fit()
    window.addEventListener('resize', fit)
    return () => window.removeEventListener('resize', fit)
  }, [text])

  return (
    <div ref={useMustSee()} className="ab-growing">
      <textarea
        ref={field}
        className="ab-input ab-editor-text"
        dir={dir}
        value={text}
        rows={leastRows}
        spellCheck={false}
        autoFocus={autoFocus}
        disabled={disabled}
        aria-label={label}
        aria-invalid={errorId !== undefined}
        aria-describedby={errorId}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  )
}
