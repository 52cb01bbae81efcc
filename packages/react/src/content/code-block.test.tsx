// @vitest-environment happy-dom
import { cleanup, render, screen } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { CodeBlock } from './code-block.js'
import { CodeHighlighterContext, type CodeHighlighter } from '../code-highlighter.js'

afterEach(cleanup)

function draw(highlighter: CodeHighlighter | null, language?: string) {
  const { container } = render(
    <CodeHighlighterContext value={highlighter}>
      <CodeBlock code="let a = 1" language={language} />
    </CodeHighlighterContext>,
  )
  return () => [...container.querySelectorAll('.ab-token')].map((token) => token.textContent)
}

const inWords: CodeHighlighter = {
  highlight: (code) =>
    Promise.resolve([code.split(' ').map((content) => ({ content, htmlStyle: { color: 'red' } }))]),
}

it('code is coloured by the highlighter of the page', async () => {
  const tokens = draw(inWords, 'js')
  await vi.waitFor(() => expect(tokens()).toEqual(['let', 'a', '=', '1']))
})

it('code is shown without colours if the page has no highlighter, or it fails', async () => {
  draw(null, 'js')
  expect(screen.getByText('let a = 1')).toBeDefined()
  cleanup()
  const highlight = vi.fn<CodeHighlighter['highlight']>(() => Promise.reject(new Error('no grammar')))
  const tokens = draw({ highlight }, 'js')
  await vi.waitFor(() => expect(highlight).toHaveBeenCalledWith('let a = 1', 'js'))
  expect(tokens()).toEqual([])
  expect(screen.getByText('let a = 1')).toBeDefined()
})

it('code without a language is not given to the highlighter', () => {
  const highlight = vi.fn<CodeHighlighter['highlight']>(() => Promise.resolve(null))
  draw({ highlight })
  expect(highlight).not.toHaveBeenCalled()
})
