import { splitHiddenCharacters, type Strictness } from '@askback/protocol'
import { Fragment, memo } from 'react'
import { useLabels } from '../labels.js'
import { formatBlankLines, formatCount } from './text-labels.js'
import { labelBlankRuns } from './text-segments.js'

/** The props of `SafeText`. */
export interface SafeTextProps {
  text: string
  /**
   * How strict it is: in code every character matters, so that look-alikes and blanks are shown too.
   *
   * @default "prose"
   */
  as?: Strictness
}

/**
 * Shows a text of an agent as plain text. Characters that are invisible, or that reorder others, are spelled out
 * (`U+202E`), as they could disguise what is approved.
 *
 * @example
 * <SafeText text={command} as="code" />
 */
export const SafeText = memo(function SafeText({ text, as = 'prose' }: SafeTextProps) {
  const t = useLabels()
  return splitHiddenCharacters(text, as).map((piece, index) =>
    'shown' in piece ? (
      // Only code keeps its spaces and line breaks. Elsewhere the browser draws a run of them as one space.
      <Fragment key={index}>{as === 'code' ? <LabelledBlanks text={piece.shown} /> : piece.shown}</Fragment>
    ) : (
      <span
        key={index}
        className="ab-hidden-character"
        title={t('A character that is invisible, or looks like another')}
      >
        {piece.name}
      </span>
    ),
  )
})

function LabelledBlanks({ text }: { text: string }) {
  const t = useLabels()
  return labelBlankRuns(text).map((piece, index) =>
    'shown' in piece ? (
      piece.shown
    ) : (
      <span
        key={index}
        className="ab-hidden-character"
        title={t('Shown as a number, as it would hide what follows')}
      >
        {'spaces' in piece
          ? formatCount(t, piece.spaces, '{count} space', '{count} spaces')
          : formatBlankLines(t, piece.blankLines)}
      </span>
    ),
  )
}
