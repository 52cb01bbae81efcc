import { use, useMemo, useState } from 'react'
import { CardGuardContext, useMustSee } from '../guard/card-guard.js'
import { ShowAll } from '../guard/must-see.js'
import { count } from './amounts.js'
import { blankLinesLabel } from './blank-runs.js'
import { foldRows, pairRows, type DiffItem, type DiffPair, type DiffRow } from './diff-rows.js'
import { ShownText } from './shown-text.js'

export interface DiffViewProps {
  diffs: { rows: DiffRow[]; note?: string | undefined }[]
  /** What was and what will be side by side. */
  isSplit?: boolean
}

/** A diff that is not much longer is shown whole. */
const FOLD_FROM = 80
const FIRST_ITEMS = 50

/** What an edit takes away and brings, line by line. */
export function DiffView({ diffs, isSplit = false }: DiffViewProps) {
  const isInCard = use(CardGuardContext) !== null
  const [isWhole, setWhole] = useState(false)
  const folded = useMemo(() => diffs.map(({ rows }) => foldRows(rows)), [diffs])
  const total = folded.reduce((sum, items) => sum + items.length, 0)
  const isFolded = total > FOLD_FROM
  const heads = useMemo(() => firstItems(folded, isFolded ? FIRST_ITEMS : total), [folded, isFolded, total])
  return (
    <div className="ab-long-text">
      <div className="ab-code-scroll" tabIndex={isInCard ? undefined : 0} role="group" aria-label="Changes">
        {diffs.map(({ note }, index) => {
          const head = heads[index]!
          // What opens later is a part of its own: see `useMustSee`.
          const tail = isWhole ? folded[index]!.slice(head.length) : []
          return (
            <table key={index} className="ab-diff" data-split={isSplit || undefined}>
              {note !== undefined && note !== '' && <Note note={note} />}
              {head.length > 0 && <Items items={head} isSplit={isSplit} />}
              {tail.length > 0 && <Items items={tail} isSplit={isSplit} />}
            </table>
          )
        })}
      </div>
      {isFolded && !isWhole && (
        <ShowAll onPress={() => setWhole(true)}>
          Show all{' '}
          {count(
            diffs.reduce((sum, { rows }) => sum + rows.length, 0),
            'line',
          )}
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

function Note({ note }: { note: string }) {
  return (
    <caption ref={useMustSee()} className="ab-diff-note">
      <ShownText text={note} as="code" />
    </caption>
  )
}

function Items({ items, isSplit }: { items: DiffItem[]; isSplit: boolean }) {
  return (
    <tbody ref={useMustSee()}>
      {stretchesOf(items).map((stretch, index) => {
        if (!Array.isArray(stretch)) return <FoldedItem key={index} item={stretch} isSplit={isSplit} />
        return isSplit
          ? pairRows(stretch).map((pair, at) => <SplitRow key={`${index} ${at}`} pair={pair} />)
          : stretch.map((row, at) => <Row key={`${index} ${at}`} row={row} />)
      })}
    </tbody>
  )
}

type Folded = Exclude<DiffItem, { kind: 'row' }>

/** Rows that follow each other, with what is folded between them. */
function stretchesOf(items: DiffItem[]): (DiffRow[] | Folded)[] {
  const stretches: (DiffRow[] | Folded)[] = []
  for (const item of items) {
    const last = stretches.at(-1)
    if (item.kind !== 'row') stretches.push(item)
    else if (Array.isArray(last)) last.push(item.row)
    else stretches.push([item.row])
  }
  return stretches
}

function FoldedItem({ item, isSplit }: { item: Folded; isSplit: boolean }) {
  const [isOpen, setOpen] = useState(false)
  if (isOpen) {
    return isSplit
      ? pairRows(item.rows).map((pair, at) => <SplitRow key={at} pair={pair} />)
      : item.rows.map((row, at) => <Row key={at} row={row} />)
  }
  const type = item.rows[0]?.type ?? 'same'
  return (
    <tr className="ab-diff-row" data-type={type}>
      <td className="ab-diff-fold" colSpan={4}>
        {item.kind === 'blank' ? (
          <>
            <span className="ab-only-spoken">{spoken[type]}</span>
            <span aria-hidden>{signs[type]} </span>
            <span className="ab-hidden-character">{blankLinesLabel(item.rows.length)}</span>
          </>
        ) : (
          <button type="button" className="ab-link-button" onClick={() => setOpen(true)}>
            Show {count(item.rows.length, 'unchanged line')}
          </button>
        )}
      </td>
    </tr>
  )
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
          {row.isUnended && <span className="ab-hidden-character">no line break at the end</span>}
        </>
      )}
    </td>
  )
}
