import { use, useMemo, useState } from 'react'
import { CardGuardContext, useMustSee } from '../guard/card-guard.js'
import { ShowAll } from '../guard/must-see.js'
import { bytes, count } from './amounts.js'
import { blankLinesLabel, type Segment } from './blank-runs.js'
import { chunksOf, type Chunk } from './chunks.js'
import { foldText } from './fold-text.js'
import { ShownText } from './shown-text.js'

export interface LongTextProps {
  text: string
  label?: string
}

/** In a card the text stands in full: a box that scrolls would hide most of it. */
const IN_CARD = { foldFrom: 40, keep: 24 }
/** Elsewhere it scrolls in a box of its own, and is only folded where it would take the browser long to draw. */
const IN_BOX = { foldFrom: 1600, keep: 1600 }

/** Monospace text of any length. What is not drawn at once is counted, and one press away. */
export function LongText({ text, label }: LongTextProps) {
  const isInCard = use(CardGuardContext) !== null
  const { head, tail } = useMemo(() => foldText(text, isInCard ? IN_CARD : IN_BOX), [text, isInCard])
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="ab-long-text">
      {/* A region that may scroll must be reachable by keys. */}
      <div
        className="ab-code-scroll"
        tabIndex={isInCard ? undefined : 0}
        role="group"
        aria-label={label ?? 'Text'}
      >
        {text === '' && <span className="ab-quiet">Empty</span>}
        <Segments segments={head} />
        {isOpen && <Segments segments={tail} />}
      </div>
      {tail.length > 0 && !isOpen && (
        <ShowAll onPress={() => setOpen(true)}>Show all {lengthOf(text)}</ShowAll>
      )}
    </div>
  )
}

function Segments({ segments }: { segments: Segment[] }) {
  return segments.map((segment, index) =>
    'text' in segment ? (
      <Chunks key={index} text={segment.text} />
    ) : (
      <p key={index} className="ab-blank-lines">
        <span className="ab-hidden-character">{blankLinesLabel(segment.blankLines)}</span>
      </p>
    ),
  )
}

function Chunks({ text }: { text: string }) {
  const chunks = useMemo(() => chunksOf(text), [text])
  return chunks.map((chunk, index) => <ChunkView key={index} chunk={chunk} />)
}

function ChunkView({ chunk: { text, isContinued } }: { chunk: Chunk }) {
  const mustSee = useMustSee()
  return (
    // Without any text it has no height, and there is nothing to see.
    <pre
      ref={text === '' ? undefined : mustSee}
      className="ab-chunk"
      data-continued={isContinued || undefined}
    >
      <ShownText text={text} as="code" />
    </pre>
  )
}

function lengthOf(text: string): string {
  const lines = linesIn(text)
  return lines > 1 ? count(lines, 'line') : count(text.length, 'character')
}

/** The last line break ends the last line. */
function linesIn(text: string): number {
  return text === '' ? 0 : text.replace(/\n$/, '').split('\n').length
}

/** "412 lines · 9.8 kB" */
export function sizeOf(text: string): string {
  return `${count(linesIn(text), 'line')} · ${bytes(text)}`
}
