import { useState } from 'react'
import type { QuestionControl } from './use-question.js'

/** A word beside the answer; most need none, so it is one press away. */
export function QuestionNote({ control, step }: { control: QuestionControl; step: number }) {
  const { replies, canAnswer, writeNote } = control
  const { note } = replies[step]!
  const [isOpen, setOpen] = useState(note !== '')
  if (!isOpen) {
    return (
      <button
        type="button"
        className="ab-button ab-add-note"
        data-tone="quiet"
        data-size="small"
        disabled={!canAnswer}
        onClick={() => setOpen(true)}
      >
        Add a note
      </button>
    )
  }
  return (
    <textarea
      className="ab-input"
      rows={Math.min(6, Math.max(2, note.split('\n').length))}
      value={note}
      disabled={!canAnswer}
      placeholder="A note that goes with your answer"
      aria-label="Note"
      autoFocus={note === ''}
      onChange={(event) => writeNote(step, event.target.value)}
    />
  )
}
