import { piecesOf, type Strictness } from '@askback/protocol'
import { Fragment, memo } from 'react'
import { countBlanks } from './blank-runs.js'

export interface ShownTextProps {
  text: string
  /** In code every character matters. */
  as?: Strictness
}

/** A text from an agent as text: characters that cannot be seen, or that turn others around, are spelled out. */
export const ShownText = memo(function ShownText({ text, as = 'prose' }: ShownTextProps) {
  return piecesOf(text, as).map((piece, index) =>
    'shown' in piece ? (
      // Only code keeps its spaces and line breaks; elsewhere the browser draws a run of them as one space.
      <Fragment key={index}>{as === 'code' ? <CountedBlanks text={piece.shown} /> : piece.shown}</Fragment>
    ) : (
      <span
        key={index}
        className="ab-hidden-character"
        title="A character that cannot be seen, or looks like another"
      >
        {piece.name}
      </span>
    ),
  )
})

function CountedBlanks({ text }: { text: string }) {
  return countBlanks(text).map((piece, index) =>
    'shown' in piece ? (
      piece.shown
    ) : (
      <span key={index} className="ab-hidden-character" title="Counted instead of drawn">
        {piece.label}
      </span>
    ),
  )
}
