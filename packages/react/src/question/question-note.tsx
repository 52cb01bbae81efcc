import type { QuestionControl } from './use-question.js'

/** A word beside the answer. */
export function QuestionNote({ control, step }: { control: QuestionControl; step: number }) {
  const { replies, canAnswer, writeNote } = control
  const { note } = replies[step]!
  return (
    <textarea
      className="ab-input"
      dir="auto"
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
