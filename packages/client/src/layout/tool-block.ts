import type { Interaction, Json, SessionState, ToolCall, Turn } from '@askback/protocol'
import type { Block, Card, ToolBlock, ToolStatus } from './layout-model.js'
import type { Placement } from './placement.js'

export interface Drawing {
  state: SessionState
  placement: Placement
  /** Output so far, by tool call. */
  outputs: ReadonlyMap<string, string>
}

const sources: Record<NonNullable<ToolCall['source']>, string | null> = {
  agent: null,
  cli: 'via CLI',
  http: 'via HTTP',
  mcp: 'via MCP',
  hook: 'via hook',
}

export function toolBlock(call: ToolCall, turn: Turn, drawing: Drawing): ToolBlock {
  const { toolCallId, toolName, input, source = 'agent', result } = call
  const children = groupCalls(
    (drawing.placement.children.get(toolCallId) ?? []).map((child) => toolBlock(child, turn, drawing)),
    drawing,
  )
  const liveOutput = result ? undefined : drawing.outputs.get(toolCallId)
  const asked = askedAbout(toolCallId, drawing)
  const status = statusOf(call, turn, asked)
  return {
    key: `call:${toolCallId}`,
    toolCallId,
    toolName,
    input,
    status,
    waiting: status === 'waiting' || children.some(holdsWaiting),
    placeholder: false,
    source: sources[source],
    approvals: cardsOf(drawing.placement.approvals.get(toolCallId), drawing),
    ...(result && { result }),
    ...(liveOutput !== undefined && { liveOutput }),
    children,
  }
}

/** Keeps the controls of an approval reachable when the log has no call to attach them to. */
export function placeholderBlock(approval: Interaction, drawing: Drawing): ToolBlock {
  const { toolCallId, toolName } = approval
  const approvals = drawing.placement.approvals.get(toolCallId) ?? []
  // Nothing looks approved that nobody approved.
  const status = decided(askedAbout(toolCallId, drawing)) ?? 'interrupted'
  return {
    key: `call:${toolCallId}`,
    toolCallId,
    toolName,
    input: inputOf(approval),
    status,
    waiting: status === 'waiting',
    placeholder: true,
    source: sources[approval.source ?? 'agent'],
    approvals: cardsOf(approvals, drawing),
    children: [],
  }
}

/** Consecutive calls share a group; one that stands alone ends it. */
export function appendCall(blocks: Block[], call: ToolBlock, drawing: Drawing): void {
  const last = blocks.at(-1)
  if (standsAlone(call, drawing)) blocks.push({ type: 'tool', key: call.key, call })
  else if (last?.type === 'tool_group') last.calls.push(call)
  else blocks.push({ type: 'tool_group', key: `group:${call.toolCallId}`, calls: [call] })
}

/** Somebody was asked about it, or it holds other calls. */
export function standsAlone(call: ToolBlock, { placement }: Drawing): boolean {
  return (
    call.placeholder ||
    call.children.length > 0 ||
    placement.questionnaires.has(call.toolCallId) ||
    call.approvals.some(({ interaction }) => !settledByPolicy(interaction))
  )
}

export function cardOf(interaction: Interaction, drawing: Drawing): Card {
  const { interactionId } = interaction
  return {
    type: 'interaction',
    key: `interaction:${interactionId}`,
    interaction,
    open: isOpen(interaction, drawing.state),
    replaces: drawing.placement.replaced.get(interactionId) ?? [],
  }
}

function groupCalls(calls: ToolBlock[], drawing: Drawing): Block[] {
  const blocks: Block[] = []
  for (const call of calls) appendCall(blocks, call, drawing)
  return blocks
}

function cardsOf(interactions: readonly Interaction[] | undefined, drawing: Drawing): Card[] {
  return (interactions ?? []).map((interaction) => cardOf(interaction, drawing))
}

function holdsWaiting(block: Block): boolean {
  if (block.type === 'tool') return block.call.waiting
  return block.type === 'tool_group' && block.calls.some((call) => call.waiting)
}

/** The end of a call ends what was asked about exactly this call (L7), also in the moment before the log says so. */
function isOpen(interaction: Interaction, { toolCalls, ended }: SessionState): boolean {
  if (interaction.status === 'settled' || ended) return false
  return interaction.anchor !== 'exact' || toolCalls.get(interaction.toolCallId)?.result === undefined
}

function askedAbout(toolCallId: string, { state, placement }: Drawing) {
  const approvals = placement.approvals.get(toolCallId) ?? []
  const asked = [...approvals, ...(placement.questionnaires.get(toolCallId) ?? [])]
  return { approvals, waits: asked.some((interaction) => isOpen(interaction, state)) }
}

function statusOf(call: ToolCall, turn: Turn, asked: ReturnType<typeof askedAbout>): ToolStatus {
  // What a script inside the call asked does not decide over the call itself.
  const own = asked.approvals.filter(({ anchor }) => anchor !== 'matched')
  const decision = decided({ ...asked, approvals: own })
  // An approval is also cancelled by the end of its call: then that end is what there is to tell.
  const byEnd = decision === 'cancelled' && call.result !== undefined
  if (decision !== null && decision !== 'approved' && !byEnd) return decision
  if (call.result) return call.result.isError ? (call.result.settledBy ?? 'failed') : 'done'
  return call.partial || turn.endedAt !== undefined ? 'interrupted' : 'running'
}

function decided({ approvals, waits }: ReturnType<typeof askedAbout>): ToolStatus | null {
  if (waits) return 'waiting'
  const settlement = approvals.at(-1)?.settlement
  switch (settlement) {
    case undefined:
    case 'superseded':
      return null
    case 'answered':
    case 'approved':
      return 'approved'
    case 'denied':
    case 'timed_out':
    case 'cancelled':
      return settlement
  }
}

/** Nobody was asked: a rule or the mode allowed it as it was opened. */
function settledByPolicy({ via, requestedAt, settledAt }: Interaction): boolean {
  return via === 'policy' && settledAt === requestedAt
}

function inputOf({ kind, request }: Interaction): Json {
  const isObject = typeof request === 'object' && request !== null && !Array.isArray(request)
  return kind === 'approval' && isObject ? (request['input'] ?? null) : request
}
