import { languageOf, tokensOf, type HighlightedLine, type Language } from './highlighter.js'
import { workerCall } from './worker-call.js'

export interface ToHighlight {
  code: string
  language: Language
}

const worker = workerCall(
  () => new Worker(new URL('./highlight-worker.js', import.meta.url), { type: 'module' }),
  ({ code, language }: ToHighlight) => tokensOf(code, language),
)

/** The lines of a text in colour; `null` for a language that is not known. */
export async function highlight(code: string, language: string): Promise<HighlightedLine[] | null> {
  const name = languageOf(language)
  return name === null ? null : worker.call({ code, language: name })
}

/** Starting the worker can hold up the page for a moment, which is better spent before an answer comes than at its end. */
export function prepareHighlighting(): void {
  worker.prepare()
}
