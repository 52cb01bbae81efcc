import { CheckIcon, CopyIcon } from '../icons.js'
import { createContext, memo, useContext, useEffect, useMemo, useState } from 'react'
import { CardGuardContext } from '../guard/card-guard.js'
import { CodeHighlighterContext, type HighlightedLine } from '../code-highlighter.js'
import { useLabels } from '../labels.js'
import { LongText } from './long-text.js'
import { SafeText } from './safe-text.js'
import { formatBlankLines } from './text-labels.js'
import { groupBlankLines } from './text-segments.js'

export interface CodeBlockProps {
  code: string
  language?: string | undefined
}

/** Longer code is shown without colours, as highlighting it would take too long. */
const MAX_HIGHLIGHTED_CHARACTERS = 20_000

/** Whether the text around is still being written. Its code is highlighted when it is complete. */
export const IsStreamingContext = createContext(false)

/** A block of code with a button to copy it, and with colours if there is a highlighter for its language. */
export const CodeBlock = memo(function CodeBlock({ code, language }: CodeBlockProps) {
  const lines = useHighlighted(code, language)
  const { hasCopied, copy } = useCopy(code)
  const t = useLabels()
  return (
    <div className="ab-code-block">
      <div className="ab-code-bar">
        <span>{language ? <SafeText text={language} as="code" /> : t('text')}</span>
        <button type="button" className="ab-icon-button" onClick={copy} aria-label={t('Copy the code')}>
          {hasCopied ? <CheckIcon aria-hidden /> : <CopyIcon aria-hidden />}
        </button>
      </div>
      {lines === null ? <LongText text={code} label={t('Code')} /> : <Highlighted lines={lines} />}
    </div>
  )
})

function Highlighted({ lines }: { lines: HighlightedLine[] }) {
  const isInCard = useContext(CardGuardContext) !== null
  const groups = useMemo(() => groupBlankLines(lines, isBlank), [lines])
  const t = useLabels()
  return (
    <div className="ab-code-scroll" tabIndex={isInCard ? undefined : 0} role="group" aria-label={t('Code')}>
      <pre className="ab-chunk">
        {groups.map((group, at) => (
          <span key={at}>
            {group.length > 1 ? (
              <span className="ab-hidden-character">{formatBlankLines(t, group.length)}</span>
            ) : (
              group[0]?.map((token, index) => (
                <span key={index} className="ab-token" style={token.htmlStyle}>
                  <SafeText text={token.content} as="code" />
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
  const isStreaming = useContext(IsStreamingContext)
  const highlighter = useContext(CodeHighlighterContext)
  const [done, setDone] = useState<{ code: string; lines: HighlightedLine[] | null } | null>(null)

  useEffect(() => {
    if (!highlighter || isStreaming || language === undefined) return
    if (code.length > MAX_HIGHLIGHTED_CHARACTERS) return
    let isOutdated = false
    // Code without colours is as readable, so a grammar that fails is not reported.
    highlighter.highlight(code, language).then(
      (lines) => !isOutdated && setDone({ code, lines }),
      () => undefined,
    )
    return () => {
      isOutdated = true
    }
  }, [highlighter, code, language, isStreaming])

  return done?.code === code ? done.lines : null
}

const SHOW_COPIED_MS = 1500

/** Copies a text to the clipboard, and says for a moment that it did. */
export function useCopy(text: string): { hasCopied: boolean; copy: () => void } {
  const [hasCopied, setCopied] = useState(false)

  useEffect(() => {
    if (!hasCopied) return
    const timer = setTimeout(() => setCopied(false), SHOW_COPIED_MS)
    return () => clearTimeout(timer)
  }, [hasCopied])

  return {
    hasCopied,
    copy: () => {
      // The browser refuses it while the page is not in front. Then "Copied" is not shown, which is enough of an
      // error.
      navigator.clipboard.writeText(text).then(
        () => setCopied(true),
        () => undefined,
      )
    },
  }
}
