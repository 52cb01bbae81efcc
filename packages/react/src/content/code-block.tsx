import { Check, Copy } from 'lucide-react'
import { createContext, memo, use, useEffect, useMemo, useState } from 'react'
import { CardGuardContext } from '../guard/card-guard.js'
import { blankLinesLabel, groupBlankLines } from './blank-runs.js'
import { highlight } from './highlight.js'
import type { HighlightedLine } from './highlighter.js'
import { LongText } from './long-text.js'
import { ShownText } from './shown-text.js'
import { useCopy } from './use-copy.js'

export interface CodeBlockProps {
  code: string
  language?: string | undefined
}

/** Colours help to read, and are not worth waiting for in what is long. */
const LONGEST = 20_000

/** Set around what is still being written: it gets its colours when it is done, so that it flows. */
export const StillWriting = createContext(false)

export const CodeBlock = memo(function CodeBlock({ code, language }: CodeBlockProps) {
  const lines = useHighlighted(code, language)
  const { hasCopied, copy } = useCopy(code)
  return (
    <div className="ab-code-block">
      <div className="ab-code-bar">
        <span>{language ? <ShownText text={language} as="code" /> : 'text'}</span>
        <button type="button" className="ab-icon-button" onClick={copy} aria-label="Copy the code">
          {hasCopied ? <Check aria-hidden /> : <Copy aria-hidden />}
        </button>
      </div>
      {lines === null ? <LongText text={code} label="Code" /> : <Highlighted lines={lines} />}
    </div>
  )
})

function Highlighted({ lines }: { lines: HighlightedLine[] }) {
  const isInCard = use(CardGuardContext) !== null
  const groups = useMemo(() => groupBlankLines(lines, isBlank), [lines])
  return (
    <div className="ab-code-scroll" tabIndex={isInCard ? undefined : 0} role="group" aria-label="Code">
      <pre className="ab-chunk">
        {groups.map((group, at) => (
          <span key={at}>
            {group.length > 1 ? (
              <span className="ab-hidden-character">{blankLinesLabel(group.length)}</span>
            ) : (
              group[0]?.map((token, index) => (
                <span key={index} className="ab-token" style={token.htmlStyle}>
                  <ShownText text={token.content} as="code" />
                </span>
              ))
            )}
            {at < groups.length - 1 && '\n'}
          </span>
        ))}
      </pre>
    </div>
  )
}

function isBlank(line: HighlightedLine): boolean {
  return line.every(({ content }) => content.trim() === '')
}

function useHighlighted(code: string, language: string | undefined): HighlightedLine[] | null {
  const isWriting = use(StillWriting)
  const [done, setDone] = useState<{ code: string; lines: HighlightedLine[] | null } | null>(null)

  useEffect(() => {
    if (isWriting || language === undefined || code.length > LONGEST) return
    let isOld = false
    // Without colours it is as readable; a grammar that fails is no reason to say so.
    highlight(code, language).then(
      (lines) => !isOld && setDone({ code, lines }),
      () => undefined,
    )
    return () => {
      isOld = true
    }
  }, [code, language, isWriting])

  return done?.code === code ? done.lines : null
}
