import { useEffect, useState } from 'react'
import { count } from './amounts.js'
import { diffRows, patchRows, type DiffRow } from './diff-rows.js'
import type { FileEdit } from './file-edits.js'
import { ShownText } from './shown-text.js'

export interface DiffViewProps {
  edits: FileEdit[]
  onComplete?: ((isComplete: boolean) => void) | undefined
}

const FIRST_ROWS = 400

/** What an edit takes away and brings, line by line. */
export function DiffView({ edits, onComplete }: DiffViewProps) {
  const [diffs, setDiffs] = useState<DiffRow[][] | null>(null)
  const [isWhole, setWhole] = useState(false)

  useEffect(() => {
    let isOld = false
    const all = Promise.all(edits.map(rowsOf))
    void all.then((rows) => !isOld && setDiffs(rows))
    return () => {
      isOld = true
    }
  }, [edits])

  const total = diffs?.reduce((sum, rows) => sum + rows.length, 0) ?? 0
  const isComplete = diffs !== null && (isWhole || total <= FIRST_ROWS)
  useEffect(() => onComplete?.(isComplete), [onComplete, isComplete])

  if (!diffs) return <p className="ab-quiet">Preparing the changes…</p>
  const shown = isWhole ? diffs : firstRows(diffs)
  return (
    <div className="ab-long-text">
      <div className="ab-code-scroll" tabIndex={0} role="group" aria-label="Changes">
        {shown.map((rows, index) => (
          <table key={index} className="ab-diff">
            {edits[index]?.note !== undefined && (
              <caption className="ab-diff-note">
                <ShownText text={edits[index].note} />
              </caption>
            )}
            <tbody>
              {rows.map((row, at) => (
                <Row key={at} row={row} />
              ))}
            </tbody>
          </table>
        ))}
      </div>
      {!isComplete && (
        <button type="button" className="ab-show-rest" onClick={() => setWhole(true)}>
          Show the remaining {count(total - FIRST_ROWS, 'line')}
        </button>
      )}
    </div>
  )
}

async function rowsOf(edit: FileEdit): Promise<DiffRow[]> {
  return 'patch' in edit ? patchRows(edit.patch) : diffRows(edit.before, edit.after)
}

function firstRows(diffs: DiffRow[][]): DiffRow[][] {
  let left = FIRST_ROWS
  return diffs.map((rows) => {
    const shown = rows.slice(0, Math.max(0, left))
    left -= rows.length
    return shown
  })
}

const signs: Record<DiffRow['type'], string> = { same: ' ', added: '+', removed: '−' }
const spoken: Record<DiffRow['type'], string> = { same: '', added: 'Added: ', removed: 'Removed: ' }

function Row({ row }: { row: DiffRow }) {
  return (
    <tr className="ab-diff-row" data-type={row.type}>
      <td className="ab-diff-number" aria-hidden>
        {row.before}
      </td>
      <td className="ab-diff-number" aria-hidden>
        {row.after}
      </td>
      <td className="ab-diff-sign" aria-hidden>
        {signs[row.type]}
      </td>
      <td className="ab-diff-text">
        <span className="ab-only-spoken">{spoken[row.type]}</span>
        <ShownText text={row.text} as="code" />
      </td>
    </tr>
  )
}
