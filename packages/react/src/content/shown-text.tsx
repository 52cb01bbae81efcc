import { memo } from 'react'
import { piecesOf, type Strictness } from '@askback/protocol'

export interface ShownTextProps {
  text: string
  /** In code every character matters. */
  as?: Strictness
}

/** A text from an agent as text: characters that cannot be seen, or that turn others around, are spelled out. */
export const ShownText = memo(function ShownText({ text, as = 'prose' }: ShownTextProps) {
  return piecesOf(text, as).map((piece, index) =>
    'shown' in piece ? (
      piece.shown
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
