import { createContext } from 'react'

/** A line of code in pieces, each with the CSS properties that colour it. */
export type HighlightedLine = { content: string; htmlStyle: Record<string, string> }[]

/** Colours code. `shikiHighlighter` of `@askback/react/highlighting` is one. */
export interface CodeHighlighter {
  /** The coloured lines of a code; `null` for a language that is not known. If it rejects, the code is shown without colours. */
  highlight(code: string, language: string): Promise<HighlightedLine[] | null>
}

export const CodeHighlighterContext = createContext<CodeHighlighter | null>(null)
