import { memo, use, useDeferredValue, useMemo, useState, type ReactNode } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import { CardGuardContext } from '../guard/card-guard.js'
import { MustSee, ShowAll } from '../guard/must-see.js'
import { count } from './amounts.js'
import { CodeBlock, StillWriting } from './code-block.js'
import { drawEveryWord } from './draw-every-word.js'
import { ErrorBoundary } from './error-boundary.js'
import { languageOf } from './hast.js'
import { LongText } from './long-text.js'
import { linkedMarkdownBlocks, markdownBlocks } from './markdown-blocks.js'
import { hrefOf, OuterLink } from './outer-link.js'
import { isCostly } from './parse-cost.js'
import { readGfm } from './read-gfm.js'
import { readingDirection } from './reading-direction.js'
import { showHiddenCharacters } from './show-hidden-characters.js'

export interface MarkdownProps {
  text: string
  isStreaming?: boolean
}

/** More than this at once are drawn when somebody asks for them. */
const FIRST_BLOCKS = 200

/**
 * Markdown from an agent: no HTML, no images from elsewhere, links only where they can do no harm. In a card every word of
 * the source is drawn, as somebody decides on all of it.
 */
export const Markdown = memo(function Markdown({ text, isStreaming = false }: MarkdownProps) {
  const late = useDeferredValue(text)
  const shown = isStreaming ? late : text
  const isInCard = use(CardGuardContext) !== null
  const blocks = useMemo(
    () => (isInCard ? markdownBlocks(shown) : linkedMarkdownBlocks(shown)),
    [shown, isInCard],
  )
  // What has been drawn piece by piece while it was written need not be hidden when it is done.
  const [limit, setLimit] = useState(isStreaming ? Number.POSITIVE_INFINITY : FIRST_BLOCKS)
  return (
    <div className="ab-markdown" data-streaming={isStreaming || undefined}>
      <StillWriting value={isStreaming}>
        {blocks.slice(0, limit).map((block, index) => (
          <MustSee key={index} className="ab-markdown-block">
            <MarkdownBlock source={block} />
          </MustSee>
        ))}
      </StillWriting>
      {blocks.length > limit && (
        <ShowAll onPress={() => setLimit(Number.POSITIVE_INFINITY)}>
          Show all {count(blocks.length, 'paragraph')}
        </ShowAll>
      )}
    </div>
  )
})

const MarkdownBlock = memo(function MarkdownBlock({ source }: { source: string }) {
  const isInCard = use(CardGuardContext) !== null
  if (isCostly(source)) return <LongText text={source} />
  return (
    <ErrorBoundary fallback={<LongText text={source} />}>
      <ReactMarkdown
        remarkPlugins={remarkPlugins}
        rehypePlugins={isInCard ? cardRehypePlugins : rehypePlugins}
        components={components}
        urlTransform={(url) => hrefOf(url) ?? ''}
      >
        {source}
      </ReactMarkdown>
    </ErrorBoundary>
  )
})

const remarkPlugins = [readGfm]
const rehypePlugins = [showHiddenCharacters, readingDirection]
const cardRehypePlugins = [drawEveryWord, ...rehypePlugins]

const components: Components = {
  a: ({ href, children }) => <OuterLink href={href}>{children}</OuterLink>,
  // An image would be fetched, and tell its host that somebody looks.
  img: ({ src, alt }) => (
    <OuterLink href={typeof src === 'string' ? src : undefined}>{`Image: ${alt || 'untitled'}`}</OuterLink>
  ),
  pre: ({ node, children }) => {
    const code = node?.children[0]
    if (code?.type !== 'element') return <pre>{children}</pre>
    const text = code.children.map((child) => (child.type === 'text' ? child.value : '')).join('')
    return <CodeBlock code={text.replace(/\n$/, '')} language={languageOf(code)} />
  },
  table: ({ children }) => <Table>{children}</Table>,
}

/** In a card a wide table is squeezed, as what scrolls aside is easily overlooked. */
function Table({ children }: { children: ReactNode }) {
  const isInCard = use(CardGuardContext) !== null
  return (
    <div className="ab-table-scroll" tabIndex={isInCard ? undefined : 0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  )
}
