import { useContext, useMemo, useState } from 'react'
import { CardGuardContext, useMustSee } from '../guard/card-guard.js'
import { ShowAll } from '../guard/must-see.js'
import type { FileEdit } from './file-edits.js'
import { foldRows, pairRows, type DiffItem, type DiffPair, type DiffRow } from './diff-rows.js'
import { useLabels, type Label } from '../labels.js'
import { SafeText } from './safe-text.js'
import { formatBlankLines, formatCount, formatLines } from './text-labels.js'

export interface DiffViewProps {
  diffs: FileDiff[]
  /**
   * Shows both sides next to each other.
   *
   * @default false
   */
  isSplit?: boolean
}

/** The rows of one edit, and the file that it changes. */
export interface FileDiff extends Pick<FileEdit, 'note' | 'path' | 'movedTo'> {
  rows: DiffRow[]
}

/** A diff with more items than this is folded after `FIRST_ITEMS`. */
const MAX_UNFOLDED_ITEMS = 80
const FIRST_ITEMS = 50

/** The changes of one or more files, line by line. */
export function DiffView({ diffs, isSplit = false }: DiffViewProps) {
  const isInCard = useContext(CardGuardContext) !== null
  const [isWhole, setWhole] = useState(false)
  const t = useLabels()
  const folded = useMemo(() => diffs.map(({ rows }) => foldRows(rows)), [diffs])
  const total = folded.reduce((sum, items) => sum + items.length, 0)
  const isFolded = total > MAX_UNFOLDED_ITEMS
  const heads = useMemo(() => firstItems(folded, isFolded ? FIRST_ITEMS : total), [folded, isFolded, total])
  return (
    <div className="ab-long-text">
      <div
        className="ab-code-scroll"
        tabIndex={isInCard ? undefined : 0}
        role="group"
        aria-label={t('Changes')}
      >
        {diffs.map((diff, index) => {
          const head = heads[index]!
          // Content that opens later needs an element of its own: see `useMustSee`.
          const tail = isWhole ? folded[index]!.slice(head.length) : []
          return (
            <table key={index} className="ab-diff" data-split={isSplit || undefined}>
              {(diff.note ?? diff.path) !== undefined && <FileNote diff={diff} />}
              {head.length > 0 && <DiffItems items={head} isSplit={isSplit} />}
              {tail.length > 0 && <DiffItems items={tail} isSplit={isSplit} />}
            </table>
          )
        })}
      </div>
      {isFolded && !isWhole && (
        <ShowAll onPress={() => setWhole(true)}>
          {t('Show all {amount}', {
            amount: formatLines(
              t,
              diffs.reduce((sum, { rows }) => sum + rows.length, 0),
            ),
          })}
        </ShowAll>
      )}
    </div>
  )
}

function firstItems(diffs: DiffItem[][], amount: number): DiffItem[][] {
  let left = amount
  return diffs.map((items) => {
    const first = items.slice(0, Math.max(0, left))
    left -= items.length
    return first
  })
}

function FileNote({ diff: { note, path, movedTo } }: { diff: FileDiff }) {
  const t = useLabels()
  return (
    <caption ref={useMustSee()} className="ab-diff-note">
      {note && t(note)} {path !== undefined && <FilePath path={path} />}
      {movedTo !== undefined && (
        <>
          {` ${t('moved to')} `}
          <FilePath path={movedTo} />
        </>
      )}
    </caption>
  )
}

function FilePath({ path }: { path: string }) {
  return (
    <code className="ab-inline-code">
      <SafeText text={path} as="code" />
    </code>
  )
}

function DiffItems({ items, isSplit }: { items: DiffItem[]; isSplit: boolean }) {
  return (
    <tbody ref={useMustSee()}>
      {splitAtFolds(items).map((group, index) => {
        if (!Array.isArray(group)) return <FoldedRowsView key={index} item={group} isSplit={isSplit} />
        return isSplit
          ? pairRows(group).map((pair, at) => <SplitRow key={`${index} ${at}`} pair={pair} />)
          : group.map((row, at) => <UnifiedRow key={`${index} ${at}`} row={row} />)
      })}
    </tbody>
  )
}

type FoldedRows = Exclude<DiffItem, { kind: 'row' }>

/** Groups consecutive rows, with the folds between them. */
function splitAtFolds(items: DiffItem[]): (DiffRow[] | FoldedRows)[] {
  const groups: (DiffRow[] | FoldedRows)[] = []
  for (const item of items) {
    const last = groups.at(-1)
    if (item.kind !== 'row') groups.push(item)
    else if (Array.isArray(last)) last.push(item.row)
    else groups.push([item.row])
  }
  return groups
}

function FoldedRowsView({ item, isSplit }: { item: FoldedRows; isSplit: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const t = useLabels()
  if (isOpen) {
    return isSplit
      ? pairRows(item.rows).map((pair, at) => <SplitRow key={at} pair={pair} />)
      : item.rows.map((row, at) => <UnifiedRow key={at} row={row} />)
  }
  const type = item.rows[0]?.type ?? 'same'
  return (
    <tr className="ab-diff-row" data-type={type}>
      <td className="ab-diff-fold" colSpan={4}>
        {item.kind === 'blank' ? (
          <>
            <TypeForScreenReaders type={type} />
            <span aria-hidden>{signs[type]} </span>
            <span className="ab-hidden-character">{formatBlankLines(t, item.rows.length)}</span>
          </>
        ) : (
          <button type="button" className="ab-link-button" onClick={() => setOpen(true)}>
            {formatCount(t, item.rows.length, 'Show {count} unchanged line', 'Show {count} unchanged lines')}
          </button>
        )}
      </td>
    </tr>
  )
}

const signs: Record<DiffRow['type'], string> = { same: ' ', added: '+', removed: '−' }
const screenReaderLabels: Record<DiffRow['type'], Label | null> = {
  same: null,
  added: 'Added:',
  removed: 'Removed:',
}

function TypeForScreenReaders({ type }: { type: DiffRow['type'] }) {
  const t = useLabels()
  const label = screenReaderLabels[type]
  return <span className="ab-sr-only">{label && `${t(label)} `}</span>
}

function UnifiedRow({ row }: { row: DiffRow }) {
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
      <LineCell row={row} />
    </tr>
  )
}

function SplitRow({ pair: { left, right } }: { pair: DiffPair }) {
  return (
    <tr className="ab-diff-row">
      <td className="ab-diff-number" data-type={left?.type} aria-hidden>
        {left?.before}
      </td>
      <LineCell row={left} />
      <td className="ab-diff-number" data-type={right?.type} aria-hidden>
        {right?.after}
      </td>
      <LineCell row={right} />
    </tr>
  )
}

function LineCell({ row }: { row: DiffRow | null }) {
  const t = useLabels()
  return (
    <td className="ab-diff-text" data-type={row?.type ?? 'none'}>
      {row && (
        <>
          <TypeForScreenReaders type={row.type} />
          <SafeText text={row.text} as="code" />
          {row.lacksLineBreak && <span className="ab-hidden-character">{t('no line break at the end')}</span>}
        </>
      )}
    </td>
  )
}
