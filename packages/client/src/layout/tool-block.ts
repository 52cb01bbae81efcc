import type { Interaction, Json, SessionState, ToolCall, Turn } from '@askback/protocol'
import type { CardBlock, LayoutBlock, ToolBlock, ToolStatus } from './layout-model.js'
import type { Placement } from './placement.js'

/** What the layout of a turn needs to know beside the turn. */
export interface LayoutContext {
  state: SessionState
  placement: Placement
  /** The output so far of tools that run, by tool call. */
  outputs: ReadonlyMap<string, string>
}

const sourceLabels: Record<NonNullable<ToolCall['source']>, string | null> = {
  agent: null,
  cli: 'via CLI',
  http: 'via HTTP',
  mcp: 'via MCP',
  hook: 'via hook',
}

/** The block of a tool call, with the calls inside it. */
export function toolBlock(call: ToolCall, turn: Turn, context: LayoutContext): ToolBlock {
  const { toolCallId, toolName, input, source = 'agent', result } = call
  const children = groupCalls(
    (context.placement.children.get(toolCallId) ?? []).map((child) => toolBlock(child, turn, context)),
    context,
  )
  const liveOutput = result ? undefined : context.outputs.get(toolCallId)
  const status = statusOf(call, turn, requestsAbout(toolCallId, context))
  return {
    key: `call:${toolCallId}`,
    toolCallId,
    toolName,
    input,
    status,
    waiting: status === 'waiting' || children.some(containsWaiting),
    placeholder: false,
    source: sourceLabels[source],
    approvals: cardsOf(context.placement.approvals.get(toolCallId), context),
    ...(result && { result }),
    ...(liveOutput !== undefined && { liveOutput }),
    children,
  }
}

/** Stands for a call that is not in the log, so that its approval can be answered. */
export function placeholderBlock(approval: Interaction, context: LayoutContext): ToolBlock {
  const { toolCallId, toolName } = approval
  const approvals = context.placement.approvals.get(toolCallId) ?? []
  // Never `approved` unless somebody approved it.
  const status = decisionOf(requestsAbout(toolCallId, context)) ?? 'interrupted'
  return {
    key: `call:${toolCallId}`,
    toolCallId,
    toolName,
    input: inputOf(approval),
    status,
    waiting: status === 'waiting',
    placeholder: true,
    source: sourceLabels[approval.source ?? 'agent'],
    approvals: cardsOf(approvals, context),
    children: [],
  }
}

/** Adds a call to the group at the end, or begins a group. A call that is shown by itself ends the group. */
export function appendCall(blocks: LayoutBlock[], call: ToolBlock, context: LayoutContext): void {
  const last = blocks.at(-1)
  if (isUngrouped(call, context)) blocks.push({ type: 'tool', key: call.key, call })
  else if (last?.type === 'tool_group') last.calls.push(call)
  else blocks.push({ type: 'tool_group', key: `group:${call.toolCallId}`, calls: [call] })
}

/** Whether a call is shown by itself: somebody was asked about it, or it contains other calls. */
export function isUngrouped(call: ToolBlock, { placement }: LayoutContext): boolean {
  return (
    call.placeholder ||
    call.children.length > 0 ||
    placement.questionnaires.has(call.toolCallId) ||
    call.approvals.some(({ interaction }) => !wasApprovedAtOnce(interaction))
  )
}

export function cardOf(interaction: Interaction, context: LayoutContext): CardBlock {
  const { interactionId } = interaction
  return {
    type: 'interaction',
    key: `interaction:${interactionId}`,
    interaction,
    open: isOpen(interaction, context.state),
    replaces: context.placement.replaced.get(interactionId) ?? [],
  }
}

function groupCalls(calls: ToolBlock[], context: LayoutContext): LayoutBlock[] {
  const blocks: LayoutBlock[] = []
  for (const call of calls) appendCall(blocks, call, context)
  return blocks
}

function cardsOf(interactions: readonly Interaction[] | undefined, context: LayoutContext): CardBlock[] {
  return (interactions ?? []).map((interaction) => cardOf(interaction, context))
}

function containsWaiting(block: LayoutBlock): boolean {
  if (block.type === 'tool') return block.call.waiting
  return block.type === 'tool_group' && block.calls.some((call) => call.waiting)
}

/** The end of a call cancels the interactions about exactly that call (L7), so they close before the log says so. */
function isOpen(interaction: Interaction, { toolCalls, ended }: SessionState): boolean {
  if (interaction.status === 'settled' || ended) return false
  return interaction.anchor !== 'exact' || toolCalls.get(interaction.toolCallId)?.result === undefined
}

function requestsAbout(toolCallId: string, { state, placement }: LayoutContext) {
  const approvals = placement.approvals.get(toolCallId) ?? []
  const all = [...approvals, ...(placement.questionnaires.get(toolCallId) ?? [])]
  return { approvals, isWaiting: all.some((interaction) => isOpen(interaction, state)) }
}

function statusOf(call: ToolCall, turn: Turn, requests: ReturnType<typeof requestsAbout>): ToolStatus {
  // What a script inside the call has asked decides nothing about the call itself.
  const own = requests.approvals.filter(({ anchor }) => anchor !== 'matched')
  const decision = decisionOf({ ...requests, approvals: own })
  // The end of a call cancels its approval: then the result says more than the cancellation.
  const wasCancelledByEnd = decision === 'cancelled' && call.result !== undefined
  if (decision !== null && decision !== 'approved' && !wasCancelledByEnd) return decision
  if (call.result) return call.result.isError ? (call.result.settledBy ?? 'failed') : 'done'
  return call.partial || turn.endedAt !== undefined ? 'interrupted' : 'running'
}

function decisionOf({ approvals, isWaiting }: ReturnType<typeof requestsAbout>): ToolStatus | null {
  if (isWaiting) return 'waiting'
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

/** A rule or the permission mode approved it when it was opened, so nobody was asked. */
function wasApprovedAtOnce({ via, requestedAt, settledAt }: Interaction): boolean {
  return via === 'policy' && settledAt === requestedAt
}

/** The input that an approval is about; other kinds have only their request. */
function inputOf({ kind, request }: Interaction): Json {
  const isObject = typeof request === 'object' && request !== null && !Array.isArray(request)
  return kind === 'approval' && isObject ? (request['input'] ?? null) : request
}
