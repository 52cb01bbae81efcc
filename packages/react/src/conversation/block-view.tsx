import type { Block } from '@askback/client'
import { memo } from 'react'
import { Markdown } from '../content/markdown.js'
import { InteractionView } from '../kinds/interaction-view.js'
import { ToolCallBlock } from '../tool-call/tool-call-block.js'
import { ToolCallGroup } from '../tool-call/tool-call-group.js'
import { Thinking } from './thinking.js'

export const BlockView = memo(function BlockView({ block }: { block: Block }) {
  switch (block.type) {
    case 'text':
      return (
        <>
          <Markdown text={block.text} isStreaming={block.state === 'streaming'} />
          {block.state === 'partial' && <p className="ab-quiet">This text was cut short.</p>}
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
