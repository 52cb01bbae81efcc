import type { CodeHighlighter } from '../code-highlighter.js'
import { languageOf, tokensOf, type Language } from './shiki-tokens.js'
import { workerCall } from './worker-call.js'

/** Code to colour, and its language. */
export interface HighlightInput {
  code: string
  language: Language
}

const worker = /* @__PURE__ */ workerCall(
  () => new Worker(new URL('./highlight-worker.js', import.meta.url), { type: 'module' }),
  ({ code, language }: HighlightInput) => tokensOf(code, language),
)

/**
 * Colours the languages that agents write most, by `shiki`, in a worker. Your bundler splits off the worker and each grammar, and a page
 * loads them when they are needed. It is an entry of its own so that pages without it need not install `shiki`.
 *
 * @example
 * import { shikiHighlighter } from '@askback/react/highlighting'
 *
 * root.render(
 *   <AskbackProvider transport={transport} highlighter={shikiHighlighter}>
 *     <Inbox />
 *   </AskbackProvider>,
 * )
 */
export const shikiHighlighter: CodeHighlighter = {
  async highlight(code, language) {
    const name = languageOf(language)
    return name === null ? null : worker.call({ code, language: name })
  },
}

/**
 * Starts the worker that highlights code. Starting it can block the page for a moment, so call it while the page is
 * idle, before the first code appears. Without this call it starts with the first code.
 *
 * @example
 * requestIdleCallback(() => prepareHighlighting())
 */
export function prepareHighlighting(): void {
  worker.prepare()
}
