import { useContext, useMemo, useState } from 'react'
import { CardGuardContext, useMustSee } from '../guard/card-guard.js'
import { ShowAll } from '../guard/must-see.js'
import { useLabels } from '../labels.js'
import { SafeText } from './safe-text.js'
import { formatBlankLines, formatLength } from './text-labels.js'
import { splitIntoChunks, foldText, type Chunk, type Segment } from './text-segments.js'

export interface LongTextProps {
  text: string
  label?: string
}

/**
 * In a card the text is drawn in full height, as a box that scrolls would hide most of it. Longer texts are folded.
 */
const IN_CARD = { foldFrom: 40, keep: 24 }
/** Elsewhere it scrolls in a box, and is folded only if it would take the browser long to draw. */
const IN_BOX = { foldFrom: 1600, keep: 1600 }

/** Monospace text of any length. What is folded is one press away, on a button that says how much there is. */
export function LongText({ text, label }: LongTextProps) {
  const isInCard = useContext(CardGuardContext) !== null
  const { head, tail } = useMemo(() => foldText(text, isInCard ? IN_CARD : IN_BOX), [text, isInCard])
  const [isOpen, setOpen] = useState(false)
  const t = useLabels()
  return (
    <div className="ab-long-text">
      {/* A region that scrolls must be reachable by keyboard. */}
      <div
        className="ab-code-scroll"
        tabIndex={isInCard ? undefined : 0}
        role="group"
        aria-label={label ?? t('Text')}
      >
        {text === '' && <span className="ab-quiet">{t('Empty')}</span>}
        <Segments segments={head} />
        {isOpen && <Segments segments={tail} />}
      </div>
      {tail.length > 0 && !isOpen && (
        <ShowAll onPress={() => setOpen(true)}>
          {t('Show all {amount}', { amount: formatLength(t, text) })}
        </ShowAll>
      )}
    </div>
  )
}

function Segments({ segments }: { segments: Segment[] }) {
  const t = useLabels()
  return segments.map((segment, index) =>
    'text' in segment ? (
      <Chunks key={index} text={segment.text} />
    ) : (
      <p key={index} className="ab-blank-lines">
        <span className="ab-hidden-character">{formatBlankLines(t, segment.blankLines)}</span>
      </p>
    ),
  )
}

function Chunks({ text }: { text: string }) {
  const chunks = useMemo(() => splitIntoChunks(text), [text])
  return chunks.map((chunk, index) => <ChunkView key={index} chunk={chunk} />)
}

function ChunkView({ chunk: { text, isContinued } }: { chunk: Chunk }) {
  const mustSee = useMustSee()
  return (
    // An empty chunk has no height, so it could never count as seen.
    <pre
      ref={text === '' ? undefined : mustSee}
      className="ab-chunk"
      data-continued={isContinued || undefined}
    >
      <SafeText text={text} as="code" />
    </pre>
  )
}
