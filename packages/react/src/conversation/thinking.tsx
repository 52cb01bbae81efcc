import { ChevronRight } from 'lucide-react'
import { memo, useState } from 'react'
import { Markdown } from '../content/markdown.js'

/** What the agent thought, folded: it is there for who wants to know. */
export const Thinking = memo(function Thinking({
  text,
  isStreaming,
}: {
  text: string
  isStreaming: boolean
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="ab-thinking">
      <button type="button" className="ab-fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <ChevronRight aria-hidden />
        <span data-streaming={isStreaming || undefined}>{isStreaming ? 'Thinking…' : 'Thought'}</span>
      </button>
      {isOpen && (
        <div className="ab-thinking-text">
          <Markdown text={text} isStreaming={isStreaming} />
        </div>
      )}
    </div>
  )
})
