import type { ToolBlock } from '@askback/client'
import { ChevronRightIcon, LayersIcon } from '../icons.js'
import { memo, useState } from 'react'
import { formatNumber } from '../content/text-labels.js'
import { useLabels } from '../labels.js'
import { ToolCallBlock, ToolStatusLabel } from './tool-call-block.js'

/** The props of `ToolCallGroup`. */
export interface ToolCallGroupProps {
  calls: ToolBlock[]
}

/** Fewer calls than this are shown one by one. */
const MIN_GROUP_SIZE = 3

/**
 * Consecutive tool calls that nobody was asked about, on one line that opens. The running call is shown below.
 *
 * @example
 * <ToolCallGroup calls={block.calls} />
 */
export const ToolCallGroup = memo(function ToolCallGroup({ calls }: ToolCallGroupProps) {
  const t = useLabels()
  const [isOpen, setOpen] = useState(false)
  if (calls.length < MIN_GROUP_SIZE) return calls.map((call) => <ToolCallBlock key={call.key} call={call} />)

  const failed = calls.filter(({ status }) => status === 'failed').length
  const last = calls.at(-1)!
  const isBusy = last.status === 'running' || last.status === 'streaming'
  return (
    <div className="ab-tool-group">
      <button type="button" className="ab-tool-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span className="ab-tool-icon" aria-hidden>
          <LayersIcon />
        </span>
        <span className="ab-tool-words">
          {t('{count} tool calls', { count: formatNumber(calls.length) })}
        </span>
        <span className="ab-tool-object">{toolNames(calls)}</span>
        {failed > 0 && !isBusy ? (
          <span className="ab-tool-status" data-tone="bad">
            {failed === calls.length ? t('All failed') : t('{count} failed', { count: failed })}
          </span>
        ) : (
          <ToolStatusLabel status={last.status} />
        )}
        <ChevronRightIcon className="ab-tool-chevron" aria-hidden />
      </button>
      {isOpen && (
        <div className="ab-tool-children">
          {calls.map((call) => (
            <ToolCallBlock key={call.key} call={call} />
          ))}
        </div>
      )}
      {/* The running call is shown even while the group is folded. */}
      {!isOpen && isBusy && <ToolCallBlock call={last} />}
    </div>
  )
})

function toolNames(calls: ToolBlock[]): string {
  const amounts = new Map<string, number>()
  for (const { toolName } of calls) amounts.set(toolName, (amounts.get(toolName) ?? 0) + 1)
  const names = [...amounts].map(([name, amount]) => (amount === 1 ? name : `${name} ×${amount}`))
  return names.length > 4 ? `${names.slice(0, 4).join(', ')} …` : names.join(', ')
}
