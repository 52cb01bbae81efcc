import type { Highlighted, ToHighlight } from './highlight-worker.js'
import { languageOf, tokensOf, type HighlightedLine } from './highlighter.js'

type Done = (lines: HighlightedLine[] | null) => void

const waiting = new Map<number, Done>()
let worker: Worker | null | undefined
let last = 0

/**
 * The lines of a text in colour; `null` for a language that is not known. A worker does it, as the first text of a language
 * would hold up the page; where a page forbids workers, the page does.
 */
export async function highlight(code: string, language: string): Promise<HighlightedLine[] | null> {
  const name = languageOf(language)
  if (name === null) return null
  prepareHighlighting()
  if (!worker) return tokensOf(code, name)
  const id = ++last
  return new Promise((resolve) => {
    waiting.set(id, resolve)
    worker?.postMessage({ id, code, language: name } satisfies ToHighlight, [])
  })
}

/** Starting a worker can hold up the page for a moment, which is better spent before an answer comes than at its end. */
export function prepareHighlighting(): void {
  if (worker === undefined) worker = newWorker()
}

function newWorker(): Worker | null {
  if (typeof Worker === 'undefined') return null
  try {
    const made = new Worker(new URL('./highlight-worker.js', import.meta.url), { type: 'module' })
    made.addEventListener('message', ({ data: { id, lines } }: MessageEvent<Highlighted>) => done(id, lines))
    // It could not be loaded: what waits for it stays without colours, as readable as before.
    made.addEventListener('error', () => {
      worker = null
      for (const id of waiting.keys()) done(id, null)
    })
    return made
  } catch {
    return null
  }
}

function done(id: number, lines: HighlightedLine[] | null): void {
  waiting.get(id)?.(lines)
  waiting.delete(id)
}
