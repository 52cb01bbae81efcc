import type { Interaction, Item, SessionState, ToolCall, Turn } from '@askback/protocol'

type PlainItem = Exclude<Item, { type: 'tool_call' | 'interaction' }>

export type Entry =
  | { type: 'item'; item: PlainItem }
  | { type: 'call'; call: ToolCall }
  /** An approval whose tool call is not in the log: it gets a block of its own. */
  | { type: 'placeholder'; approval: Interaction }
  /** A questionnaire whose tool call is not in the log. */
  | { type: 'standing'; interaction: Interaction }

/** What a turn holds of calls and interactions, each once. */
export interface TurnIndex {
  calls: Set<string>
  interactions: Set<string>
}

/** Where everything goes, decided by tool call: an event may be stamped with another turn than the call it is about. */
export interface Placement {
  /** What is shown where an interaction was first asked: itself, or what replaced it, if that is not shown before. */
  shown: Map<string, { interaction: Interaction; in: TurnIndex }>
  /** By tool call, in the order they were asked. */
  approvals: Map<string, Interaction[]>
  /** Questionnaires by tool call. */
  questionnaires: Map<string, Interaction[]>
  /** By the outermost call: subagents' questionnaires must not hide inside a block. */
  standing: Map<string, Interaction[]>
  children: Map<string, ToolCall[]>
  /** Ids of the interactions that were replaced by this one, oldest first. */
  replaced: Map<string, string[]>
}

export function place(state: SessionState, indexes: readonly TurnIndex[]): Placement {
  const placement: Placement = {
    shown: new Map(),
    approvals: new Map(),
    questionnaires: new Map(),
    standing: new Map(),
    children: new Map(),
    replaced: new Map(),
  }
  const seen = new Set<string>()
  for (const index of indexes) {
    for (const id of index.calls) placeCall(state, id, placement)
    for (const id of index.interactions) {
      const first = state.interactions.get(id)
      const current = first && successor(state, first, placement)
      if (!current || seen.has(current.interactionId)) continue
      seen.add(current.interactionId)
      placement.shown.set(id, { interaction: current, in: index })
      placeInteraction(state, current, placement)
    }
  }
  return placement
}

export function indexOf({ items }: Turn): TurnIndex {
  const index: TurnIndex = { calls: new Set(), interactions: new Set() }
  for (const item of items) {
    if (item.type === 'tool_call') index.calls.add(item.toolCallId)
    else if (item.type === 'interaction') index.interactions.add(item.interactionId)
  }
  return index
}

/** What is shown in this turn for an interaction that was asked in it. */
export function shownIn(
  index: TurnIndex,
  interactionId: string,
  { shown }: Placement,
): Interaction | undefined {
  const found = shown.get(interactionId)
  return found?.in === index ? found.interaction : undefined
}

/** What stands in a turn by itself, in order; everything else is attached to one of these. */
export function entriesOf(turn: Turn, index: TurnIndex, state: SessionState, placement: Placement): Entry[] {
  const entries: Entry[] = []
  const left = new Set(index.interactions)
  for (const item of turn.items) {
    if (item.type === 'tool_call') {
      const call = state.toolCalls.get(item.toolCallId)
      if (call && rootOf(state, call) === call) entries.push({ type: 'call', call })
    } else if (item.type === 'interaction') {
      if (!left.delete(item.interactionId)) continue
      const interaction = shownIn(index, item.interactionId, placement)
      if (interaction) entries.push(...withoutCall(interaction, state, placement))
    } else entries.push({ type: 'item', item })
  }
  return entries
}

function withoutCall(
  interaction: Interaction,
  { toolCalls }: SessionState,
  { approvals }: Placement,
): Entry[] {
  const { toolCallId, presentation } = interaction
  if (toolCalls.has(toolCallId)) return []
  if (presentation === 'questionnaire') return [{ type: 'standing', interaction }]
  return approvals.get(toolCallId)?.[0] === interaction
    ? [{ type: 'placeholder', approval: interaction }]
    : []
}

function placeCall(state: SessionState, toolCallId: string, { children }: Placement): void {
  const call = state.toolCalls.get(toolCallId)
  if (call?.parentToolCallId !== undefined && rootOf(state, call) !== call) {
    add(children, call.parentToolCallId, call)
  }
}

function placeInteraction(state: SessionState, interaction: Interaction, placement: Placement): void {
  const { toolCallId, presentation } = interaction
  if (presentation === 'tool') return add(placement.approvals, toolCallId, interaction)
  add(placement.questionnaires, toolCallId, interaction)
  const call = state.toolCalls.get(toolCallId)
  if (call) add(placement.standing, rootOf(state, call).toolCallId, interaction)
}

/** What a reprompt or a changed request put in its place, to the end of the chain. */
function successor(state: SessionState, first: Interaction, { replaced }: Placement): Interaction {
  const gone: string[] = []
  let current = first
  while (current.settlement === 'superseded' && current.supersededBy !== undefined) {
    const next = state.interactions.get(current.supersededBy)
    if (!next || gone.includes(next.interactionId)) break
    gone.push(current.interactionId)
    current = next
  }
  if (gone.length > 0 && !replaced.has(current.interactionId)) replaced.set(current.interactionId, gone)
  return current
}

/** The outermost call around it; itself if that is not known, or if the parents run in a circle. */
export function rootOf(state: SessionState, call: ToolCall): ToolCall {
  if (call.parentToolCallId === undefined) return call
  const path = new Set([call])
  let root = call
  while (root.parentToolCallId !== undefined) {
    const parent = state.toolCalls.get(root.parentToolCallId)
    if (!parent) return root
    if (path.has(parent)) return call
    path.add(parent)
    root = parent
  }
  return root
}

function add<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}
