import type { CardBlock, Container, Layout, LayoutBlock, ToolBlock } from '../layout/layout-model.js'

/** A layout as indented lines of text, for tables of test cases. */
export function draw({ turns, typing, waiting }: Layout): string {
  const lines = turns.flatMap((turn) => [
    `turn ${turn.key}${turn.reason ? ` ${turn.reason}` : ''}`,
    ...indent(turn.containers.flatMap(drawContainer)),
  ])
  if (waiting) lines.push('waiting')
  if (typing) lines.push('typing')
  return lines.join('\n')
}

function drawContainer(container: Container): string[] {
  switch (container.type) {
    case 'user_message':
      return [`message ${container.text}`]
    case 'error':
      return [`error ${container.message}`]
    case 'context_cleared':
      return ['cleared']
    case 'response':
      return [`response ${container.responseId ?? 'unnamed'}`, ...indent(container.blocks.flatMap(drawBlock))]
    case 'tool_call':
      return [`tool-call ${container.toolCallId}`, ...indent(container.blocks.flatMap(drawBlock))]
  }
}

function drawBlock(block: LayoutBlock): string[] {
  switch (block.type) {
    case 'text':
    case 'thinking':
      return [`${block.type} "${block.text}"${block.state === 'complete' ? '' : ` ${block.state}`}`]
    case 'tool_group':
      return ['group', ...indent(block.calls.flatMap(drawCall))]
    case 'tool':
      return drawCall(block.call)
    case 'interaction':
      return [drawCard(block)]
  }
}

function drawCall(call: ToolBlock): string[] {
  const words = [call.placeholder ? 'placeholder' : 'call', call.toolCallId, call.status]
  if (call.source !== null) words.push(`(${call.source})`)
  if (call.waiting && call.status !== 'waiting') words.push('contains one that waits')
  if (call.partialInput !== undefined) words.push(call.partialInput)
  if (call.liveOutput !== undefined) words.push(`> ${call.liveOutput}`)
  return [words.join(' '), ...indent([...call.approvals.map(drawCard), ...call.children.flatMap(drawBlock)])]
}

function drawCard({ interaction, open, replaces }: CardBlock): string {
  const words = [
    interaction.kind,
    interaction.interactionId,
    open ? 'open' : (interaction.settlement ?? 'closed'),
  ]
  if (interaction.agentId !== undefined) words.push(`asked by ${interaction.agentId}`)
  if (interaction.by) words.push(`by ${interaction.by.name ?? interaction.by.id}`)
  if (replaces.length > 0) words.push(`for ${replaces.join(', ')}`)
  return words.join(' ')
}

function indent(lines: string[]): string[] {
  return lines.map((line) => `  ${line}`)
}
