import { tokensOf, type HighlightedLine, type Language } from './highlighter.js'

export interface ToHighlight {
  id: number
  code: string
  language: Language
}

/** Without lines if the grammar failed. */
export interface Highlighted {
  id: number
  lines: HighlightedLine[] | null
}

addEventListener('message', ({ data: { id, code, language } }: MessageEvent<ToHighlight>) => {
  const tell = (lines: HighlightedLine[] | null) => postMessage({ id, lines } satisfies Highlighted)
  tokensOf(code, language).then(tell, () => tell(null))
})
