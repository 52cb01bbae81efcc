import { memo, useContext, useDeferredValue, useMemo, useState, type ReactNode } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import { CardGuardContext } from '../guard/card-guard.js'
import { MustSee, ShowAll } from '../guard/must-see.js'
import { CodeBlock, IsStreamingContext } from './code-block.js'
import { drawEveryWord } from './draw-every-word.js'
import { ErrorBoundary } from './error-boundary.js'
import { useLabels } from '../labels.js'
import { LongText } from './long-text.js'
import { isCostlyToParse, linkedMarkdownBlocks, markdownBlocks } from './markdown-blocks.js'
import { languageOf, readGfm, readingDirection, showHiddenCharacters } from './markdown-plugins.js'
import { formatCount } from './text-labels.js'

/** The props of `Markdown`. */
export interface MarkdownProps {
  text: string
  /**
   * Whether the text is still being written: then it is drawn with low priority, and code is not highlighted yet.
   *
   * @default false
   */
  isStreaming?: boolean
}

/** Further blocks are drawn when the person asks for them. */
const FIRST_BLOCKS = 200

/**
 * Draws Markdown of an agent: HTML as text, images as links, and links only to addresses that are safe to open. In a
 * card it draws every word of the source, as the person decides on all of it. Text that can't be parsed is shown as
 * it is.
 *
 * @example
 * <Markdown text={message} isStreaming={isWriting} />
 */
export const Markdown = memo(function Markdown({ text, isStreaming = false }: MarkdownProps) {
  const deferred = useDeferredValue(text)
  const shown = isStreaming ? deferred : text
  const isInCard = useContext(CardGuardContext) !== null
  const blocks = useMemo(
    () => (isInCard ? markdownBlocks(shown) : linkedMarkdownBlocks(shown)),
    [shown, isInCard],
  )
  // Blocks that were drawn while the text was written stay when it is complete.
  const [limit, setLimit] = useState(isStreaming ? Number.POSITIVE_INFINITY : FIRST_BLOCKS)
  const t = useLabels()
  return (
    <div className="ab-markdown" data-streaming={isStreaming || undefined}>
      <IsStreamingContext.Provider value={isStreaming}>
        {blocks.slice(0, limit).map((block, index) => (
          <MustSee key={index} className="ab-markdown-block">
            <MarkdownBlock source={block} />
          </MustSee>
        ))}
      </IsStreamingContext.Provider>
      {blocks.length > limit && (
        <ShowAll onPress={() => setLimit(Number.POSITIVE_INFINITY)}>
          {t('Show all {amount}', {
            amount: formatCount(t, blocks.length, '{count} paragraph', '{count} paragraphs'),
          })}
        </ShowAll>
      )}
    </div>
  )
})

const MarkdownBlock = memo(function MarkdownBlock({ source }: { source: string }) {
  const isInCard = useContext(CardGuardContext) !== null
  if (isCostlyToParse(source)) return <LongText text={source} />
  return (
    <ErrorBoundary fallback={<LongText text={source} />}>
      <ReactMarkdown
        remarkPlugins={remarkPlugins}
        rehypePlugins={isInCard ? cardRehypePlugins : rehypePlugins}
        components={components}
        urlTransform={(url) => safeAddress(url) ?? ''}
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
  a: ({ href, children }) => <ExternalLink href={href}>{children}</ExternalLink>,
  // Loading an image would tell its host that someone looks at it.
  img: ({ src, alt }) => <ImageLink src={typeof src === 'string' ? src : undefined} alt={alt} />,
  pre: ({ node, children }) => {
    const code = node?.children[0]
    if (code?.type !== 'element') return <pre>{children}</pre>
    const text = code.children.map((child) => (child.type === 'text' ? child.value : '')).join('')
    return <CodeBlock code={text.replace(/\n$/, '')} language={languageOf(code)} />
  },
  table: ({ children }) => <Table>{children}</Table>,
}

function ImageLink({ src, alt }: { src: string | undefined; alt: string | undefined }) {
  const t = useLabels()
  return <ExternalLink href={src}>{t('Image: {name}', { name: alt || t('untitled') })}</ExternalLink>
}

/** In a card a wide table is squeezed, as content that scrolls sideways is easily overlooked. */
function Table({ children }: { children: ReactNode }) {
  const t = useLabels()
  const isInCard = useContext(CardGuardContext) !== null
  return (
    <div className="ab-table-scroll" tabIndex={isInCard ? undefined : 0} role="group" aria-label={t('Table')}>
      <table>{children}</table>
    </div>
  )
}

const SAFE_SCHEMES = new Set(['http:', 'https:', 'mailto:'])

/**
 * The normalized address if it may be opened: absolute, and with a scheme that does nothing but open something. Else
 * `null`.
 */
function safeAddress(address: string): string | null {
  try {
    const url = new URL(address)
    return SAFE_SCHEMES.has(url.protocol) ? url.href : null
  } catch {
    // A relative address would point into the page around.
    return null
  }
}

/** A link that an agent wrote. If it may not be opened, only its text is shown. */
function ExternalLink({ href, children }: { href?: string | undefined; children: ReactNode }) {
  const address = href === undefined ? null : safeAddress(href)
  if (address === null) return <span className="ab-dead-link">{children}</span>
  const host = internationalHost(address)
  return (
    <>
      <a
        className="ab-link"
        href={address}
        title={address}
        target="_blank"
        rel="noopener noreferrer nofollow"
      >
        {children}
      </a>
      {/* Characters of other scripts can imitate a host. This is the one that would be opened. */}
      {host !== null && <span className="ab-hidden-character">{host}</span>}
    </>
  )
}

function internationalHost(address: string): string | null {
  const { hostname } = new URL(address)
  return hostname.split('.').some((label) => label.startsWith('xn--')) ? hostname : null
}
