import { useEffect, useState } from 'react'
import { count } from './amounts.js'
import { diffRows, pairRows, patchRows, type DiffPair, type DiffRow } from './diff-rows.js'
import type { FileEdit } from './file-edits.js'
import { ShownText } from './shown-text.js'

export interface DiffViewProps {
  edits: FileEdit[]
  /** What was and what will be side by side. */
  isSplit?: boolean
  onComplete?: ((isComplete: boolean) => void) | undefined
}

const FIRST_ROWS = 400

/** What an edit takes away and brings, line by line. */
export function DiffView({ edits, isSplit = false, onComplete }: DiffViewProps) {
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
          <table key={index} className="ab-diff" data-split={isSplit || undefined}>
            {edits[index]?.note !== undefined && (
              <caption className="ab-diff-note">
                <ShownText text={edits[index].note} as="code" />
              </caption>
            )}
            <tbody>
              {isSplit
                ? pairRows(rows).map((pair, at) => <SplitRow key={at} pair={pair} />)
                : rows.map((row, at) => <Row key={at} row={row} />)}
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
      <Text row={row} />
    </tr>
  )
}

function SplitRow({ pair: { left, right } }: { pair: DiffPair }) {
  return (
    <tr className="ab-diff-row">
      <td className="ab-diff-number" data-type={left?.type} aria-hidden>
        {left?.before}
      </td>
      <Text row={left} />
      <td className="ab-diff-number" data-type={right?.type} aria-hidden>
        {right?.after}
      </td>
      <Text row={right} />
    </tr>
  )
}

function Text({ row }: { row: DiffRow | null }) {
  return (
    <td className="ab-diff-text" data-type={row?.type ?? 'none'}>
      {row && (
        <>
          <span className="ab-only-spoken">{spoken[row.type]}</span>
          <ShownText text={row.text} as="code" />
        </>
      )}
    </td>
  )
}
