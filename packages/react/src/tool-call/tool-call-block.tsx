import type { ToolBlock, ToolStatus } from '@askback/client'
import type { Json } from '@askback/protocol'
import {
  BanIcon,
  BotIcon,
  CheckIcon,
  ChevronRightIcon,
  CircleDashedIcon,
  CirclePauseIcon,
  FileTextIcon,
  GlobeIcon,
  HourglassIcon,
  LoaderCircleIcon,
  PencilLineIcon,
  SearchIcon,
  SquareTerminalIcon,
  Undo2Icon,
  WrenchIcon,
  XIcon,
} from '../icons.js'
import { memo, useId, useState, type ReactNode } from 'react'
import { CallInput } from '../content/call-input.js'
import { describeCall, type CallDescription } from '../content/describe-call.js'
import { LongText } from '../content/long-text.js'
import { SafeText } from '../content/safe-text.js'
import { firstLine, formatSize } from '../content/text-labels.js'
import { InteractionView } from '../kinds/interaction-view.js'
import { useLabels, type Label } from '../labels.js'

/** The props of `ToolCallBlock`. */
export interface ToolCallBlockProps {
  call: ToolBlock
}

/**
 * A tool call on one line, which opens to its input and output. Its approvals are shown below, whether it is open or
 * not.
 *
 * @example
 * <ToolCallBlock call={block.call} />
 */
export const ToolCallBlock = memo(function ToolCallBlock({ call }: ToolCallBlockProps) {
  const t = useLabels()
  const [isOpen, setOpen] = useState(false)
  const detailId = useId()
  const { verb, object, icon } = describeCall(call.toolName, call.input, t)
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
        <span className="ab-tool-words">{isStreaming ? t('Prepare') : verb}</span>
        <code className="ab-tool-object">
          <SafeText text={firstLine(isStreaming ? call.toolName : (object ?? call.toolName))} as="code" />
        </code>
        {call.source !== null && <span className="ab-tool-source">{call.source}</span>}
        <ToolStatusLabel status={call.status} />
        <ChevronRightIcon className="ab-tool-chevron" aria-hidden />
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

/** The input and the output of a call. */
function ToolCallDetail({ call }: { call: ToolBlock }) {
  const t = useLabels()
  const { toolName, input, partialInput, result, liveOutput } = call
  const output = result ? outputText(result.output) : liveOutput
  // A call that a person did not allow is an error for the agent, but not for the person.
  const hasFailed = call.status === 'failed'
  return (
    <>
      {partialInput === undefined ? (
        <CallInput toolName={toolName} input={input} />
      ) : (
        <div className="ab-code-block">
          <div className="ab-code-bar">{t('Input so far')}</div>
          <LongText text={partialInput} label={t('Input so far')} />
        </div>
      )}
      {output !== undefined && (
        <div className="ab-code-block" data-tone={hasFailed ? 'bad' : undefined}>
          <div className="ab-code-bar">
            <span>{t(result ? (hasFailed ? 'Error' : 'Output') : 'Output so far')}</span>
            <span>
              {result?.truncated === undefined
                ? formatSize(t, output)
                : t('{size}, shortened', { size: formatSize(t, output) })}
            </span>
          </div>
          <LongText text={output} label={t('Output')} />
        </div>
      )}
    </>
  )
}

/** Many tools return a list of text parts, which are joined. Anything else is shown as JSON. */
function outputText(output: Json): string {
  if (typeof output === 'string') return output
  const parts = Array.isArray(output) ? output.map(partText) : [null]
  return parts.every((part) => part !== null) ? parts.join('\n') : JSON.stringify(output, null, 2)
}

function partText(part: Json): string | null {
  const isText = typeof part === 'object' && part !== null && !Array.isArray(part) && part['type'] === 'text'
  return isText && typeof part['text'] === 'string' ? part['text'] : null
}

const statusStyles: Record<ToolStatus, { label: Label; icon: ReactNode; tone: string }> = {
  streaming: { label: 'Preparing', icon: <LoaderCircleIcon className="ab-spin" />, tone: 'busy' },
  waiting: { label: 'Waiting for input', icon: <CirclePauseIcon />, tone: 'pending' },
  running: { label: 'Running', icon: <LoaderCircleIcon className="ab-spin" />, tone: 'busy' },
  approved: { label: 'Approved', icon: <CheckIcon />, tone: 'good' },
  done: { label: 'Done', icon: <CheckIcon />, tone: 'good' },
  failed: { label: 'Failed', icon: <XIcon />, tone: 'bad' },
  denied: { label: 'Denied', icon: <BanIcon />, tone: 'gone' },
  adjusted: { label: 'Changes requested', icon: <Undo2Icon />, tone: 'gone' },
  timed_out: { label: 'Timed out', icon: <HourglassIcon />, tone: 'gone' },
  cancelled: { label: 'Cancelled', icon: <BanIcon />, tone: 'gone' },
  interrupted: { label: 'Interrupted', icon: <CircleDashedIcon />, tone: 'gone' },
}

/** Statuses without a problem are shown by their icon alone, and spoken by screen readers. */
const QUIET_STATUSES = new Set<ToolStatus>(['done', 'approved', 'running', 'streaming'])

export function ToolStatusLabel({ status }: { status: ToolStatus }) {
  const t = useLabels()
  const { label, icon, tone } = statusStyles[status]
  return (
    <span className="ab-tool-status" data-tone={tone}>
      <span aria-hidden className="ab-tool-status-icon">
        {icon}
      </span>
      <span className={QUIET_STATUSES.has(status) ? 'ab-sr-only' : undefined}>{t(label)}</span>
    </span>
  )
}

const icons: Record<CallDescription['icon'], ReactNode> = {
  command: <SquareTerminalIcon />,
  edit: <PencilLineIcon />,
  file: <FileTextIcon />,
  search: <SearchIcon />,
  web: <GlobeIcon />,
  agent: <BotIcon />,
  tool: <WrenchIcon />,
}

function ToolIcon({ icon }: Pick<CallDescription, 'icon'>) {
  return (
    <span className="ab-tool-icon" aria-hidden>
      {icons[icon]}
    </span>
  )
}
