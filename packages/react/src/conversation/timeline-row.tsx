import type { Container, Layout, LayoutBlock } from '@askback/client'
import { ChevronRightIcon } from '../icons.js'
import { memo, useState } from 'react'
import { Markdown } from '../content/markdown.js'
import { SafeText } from '../content/safe-text.js'
import { InteractionView } from '../kinds/interaction-view.js'
import { ToolCallBlock } from '../tool-call/tool-call-block.js'
import { ToolCallGroup } from '../tool-call/tool-call-group.js'
import { useLabels, type Label } from '../labels.js'

/** One entry of a conversation, which is drawn on its own and skipped by the browser while it is out of view. */
export type TimelineRow =
  | { type: 'block'; key: string; block: LayoutBlock; isWaiting: boolean }
  | {
      type: 'container'
      key: string
      container: Exclude<Container, { blocks: LayoutBlock[] }>
      isWaiting: false
    }
  | { type: 'turn_end'; key: string; end: 'error' | 'interrupted' | 'agent_lost'; isWaiting: false }

/** Flattens the turns of a layout into rows. */
export function timelineRows({ turns }: Layout): TimelineRow[] {
  const rows: TimelineRow[] = []
  for (const { key, containers, reason, cause } of turns) {
    for (const container of containers) {
      if ('blocks' in container) for (const block of container.blocks) rows.push(blockRow(block))
      else rows.push({ type: 'container', key: container.key, container, isWaiting: false })
    }
    if (reason === 'error' || reason === 'interrupted') {
      rows.push({ type: 'turn_end', key: `end:${key}`, end: cause ?? reason, isWaiting: false })
    }
  }
  return rows
}

const rowsOfBlocks = new WeakMap<LayoutBlock, TimelineRow>()

/** Returns the same object for the same block, so that React renders only rows that changed. */
function blockRow(block: LayoutBlock): TimelineRow {
  const before = rowsOfBlocks.get(block)
  if (before) return before
  const row: TimelineRow = { type: 'block', key: block.key, block, isWaiting: isWaiting(block) }
  rowsOfBlocks.set(block, row)
  return row
}

function isWaiting(block: LayoutBlock): boolean {
  if (block.type === 'interaction') return block.open
  return block.type === 'tool' && block.call.waiting
}

const TURN_ENDS: Record<Extract<TimelineRow, { type: 'turn_end' }>['end'], Label> = {
  interrupted: 'Interrupted',
  error: 'The turn ended with an error',
  agent_lost: 'The agent stopped unexpectedly. Your next message starts it again.',
}

export const TimelineRowView = memo(function TimelineRowView({ row }: { row: TimelineRow }) {
  const t = useLabels()
  switch (row.type) {
    case 'block':
      return (
        <div className="ab-row" data-type={row.block.type}>
          <BlockView block={row.block} />
        </div>
      )
    case 'turn_end':
      return <p className="ab-row ab-divider">{t(TURN_ENDS[row.end])}</p>
    case 'container':
      return <ContainerView container={row.container} />
  }
})

function ContainerView({
  container,
}: {
  container: Extract<TimelineRow, { type: 'container' }>['container']
}) {
  const t = useLabels()
  switch (container.type) {
    case 'user_message':
      return (
        <div className="ab-row ab-message">
          <span className="ab-sr-only">
            {t('{name} wrote:', { name: container.by.name ?? container.by.id })}{' '}
          </span>
          <div className="ab-message-text" dir="auto">
            <SafeText text={container.text} />
          </div>
        </div>
      )
    case 'error':
      return (
        <p className="ab-row ab-notice" data-tone="bad" dir="auto">
          <SafeText text={container.message} />
        </p>
      )
    case 'context_cleared':
      return <p className="ab-row ab-divider">{t('Context cleared')}</p>
  }
}

const BlockView = memo(function BlockView({ block }: { block: LayoutBlock }) {
  const t = useLabels()
  switch (block.type) {
    case 'text':
      return (
        <>
          <Markdown text={block.text} isStreaming={block.state === 'streaming'} />
          {block.state === 'partial' && <p className="ab-quiet">{t('This text was cut short.')}</p>}
        </>
      )
    case 'thinking':
      return <Thinking text={block.text} isStreaming={block.state === 'streaming'} />
    case 'tool_group':
      return <ToolCallGroup calls={block.calls} />
    case 'tool':
      return (
        <>
          <ToolCallBlock call={block.call} />
          {block.call.children.length > 0 && (
            <div className="ab-tool-children">
              {block.call.children.map((child) => (
                <BlockView key={child.key} block={child} />
              ))}
            </div>
          )}
        </>
      )
    case 'interaction':
      return <InteractionView interaction={block.interaction} open={block.open} />
  }
})

/** The thinking of the agent, folded until the person opens it. */
const Thinking = memo(function Thinking({ text, isStreaming }: { text: string; isStreaming: boolean }) {
  const t = useLabels()
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="ab-thinking">
      <button type="button" className="ab-fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <ChevronRightIcon aria-hidden />
        <span data-streaming={isStreaming || undefined}>{t(isStreaming ? 'Thinking…' : 'Thought')}</span>
      </button>
      {isOpen && (
        <div className="ab-thinking-text">
          <Markdown text={text} isStreaming={isStreaming} />
        </div>
      )}
    </div>
  )
})
