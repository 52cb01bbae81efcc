import type { ToolBlock } from '@askback/client'
import { ChevronRight } from 'lucide-react'
import { memo, useId, useState } from 'react'
import { describeCall } from '../content/describe-call.js'
import { firstLine } from '../content/first-line.js'
import { ShownText } from '../content/shown-text.js'
import { InteractionView } from '../kinds/interaction-view.js'
import { ToolCallDetail } from './tool-call-detail.js'
import { ToolIcon } from './tool-icon.js'
import { ToolStatusLabel } from './tool-status.js'

export interface ToolCallBlockProps {
  call: ToolBlock
}

/** One call in one quiet line that opens. What is asked about it stands below, open or not. */
export const ToolCallBlock = memo(function ToolCallBlock({ call }: ToolCallBlockProps) {
  const [isOpen, setOpen] = useState(false)
  const detailId = useId()
  const { words, object, icon } = describeCall(call.toolName, call.input)
  const isStreaming = call.status === 'streaming'
  return (
    <div className="ab-tool" data-status={call.status}>
      <button
        type="button"
        className="ab-tool-line"
        aria-expanded={isOpen}
        aria-controls={isOpen ? detailId : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        <ToolIcon icon={icon} />
        <span className="ab-tool-words">{isStreaming ? 'Prepare' : words}</span>
        <code className="ab-tool-object">
          <ShownText text={firstLine(isStreaming ? call.toolName : (object ?? call.toolName))} as="code" />
        </code>
        {call.source !== null && <span className="ab-tool-source">{call.source}</span>}
        <ToolStatusLabel status={call.status} />
        <ChevronRight className="ab-tool-chevron" aria-hidden />
      </button>
      {isOpen && (
        <div id={detailId} className="ab-tool-detail">
          <ToolCallDetail call={call} />
        </div>
      )}
      {call.approvals.map(({ key, interaction, open }) => (
        <InteractionView key={key} interaction={interaction} open={open} />
      ))}
    </div>
  )
})
