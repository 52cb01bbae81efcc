import type { Interaction, Item, SessionState, ToolCall, Turn } from '@askback/protocol'

type PlainItem = Exclude<Item, { type: 'tool_call' | 'interaction' }>

export type Entry =
  | { type: 'item'; item: PlainItem }
  | { type: 'call'; call: ToolCall }
  /** An approval whose tool call is not in the log: it gets a block of its own. */
  | { type: 'placeholder'; toolCallId: string; approval: Interaction }
  /** A questionnaire whose tool call is not in the log. */
  | { type: 'standing'; interaction: Interaction }

export interface PlacedTurn {
  turn: Turn
  entries: Entry[]
}

/** Where everything goes, decided by tool call: an event may be stamped with another turn than the call it is about. */
export interface Placement {
  turns: PlacedTurn[]
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

export const ADRIFT = 'earlier'

export function place(state: SessionState): Placement {
  const placement: Placement = {
    turns: [],
    approvals: new Map(),
    questionnaires: new Map(),
    standing: new Map(),
    children: new Map(),
    replaced: new Map(),
  }
  const seen = new Set<string>()
  for (const turn of [...earlier(state), ...state.turns]) {
    const entries: Entry[] = []
    for (const item of turn.items) {
      if (item.type === 'tool_call') placeCall(state, item.toolCallId, placement, entries)
      else if (item.type === 'interaction') {
        const first = state.interactions.get(item.interactionId)
        const current = first && successor(state, first, placement)
        if (!current || seen.has(current.interactionId)) continue
        seen.add(current.interactionId)
        placeInteraction(state, current, placement, entries)
      } else entries.push({ type: 'item', item })
    }
    placement.turns.push({ turn, entries })
  }
  return placement
}

/** Pending interactions whose turn has left the window are still to be answered: they come first. */
function earlier(state: SessionState): Turn[] {
  if (state.adrift.size === 0) return []
  const items = [...state.adrift].map((interactionId): Item => ({ type: 'interaction', interactionId }))
  return [{ key: ADRIFT, turnId: null, startedAt: state.createdAt, items }]
}

function placeCall(state: SessionState, toolCallId: string, placement: Placement, entries: Entry[]): void {
  const call = state.toolCalls.get(toolCallId)
  if (!call) return
  const parent = call.parentToolCallId
  if (parent !== undefined && rootOf(state, call) !== call) add(placement.children, parent, call)
  else entries.push({ type: 'call', call })
}

function placeInteraction(
  state: SessionState,
  interaction: Interaction,
  placement: Placement,
  entries: Entry[],
): void {
  const { toolCallId, presentation } = interaction
  const call = state.toolCalls.get(toolCallId)
  if (presentation === 'questionnaire') {
    add(placement.questionnaires, toolCallId, interaction)
    if (call) add(placement.standing, rootOf(state, call).toolCallId, interaction)
    else entries.push({ type: 'standing', interaction })
    return
  }
  if (!call && !placement.approvals.has(toolCallId)) {
    entries.push({ type: 'placeholder', toolCallId, approval: interaction })
  }
  add(placement.approvals, toolCallId, interaction)
}

/** What a reprompt or a changed request put in its place, to the end of the chain. */
function successor(state: SessionState, first: Interaction, placement: Placement): Interaction {
  const gone: string[] = []
  let current = first
  while (current.settlement === 'superseded' && current.supersededBy !== undefined) {
    const next = state.interactions.get(current.supersededBy)
    if (!next || gone.includes(next.interactionId)) break
    gone.push(current.interactionId)
    current = next
  }
  if (gone.length > 0 && !placement.replaced.has(current.interactionId)) {
    placement.replaced.set(current.interactionId, gone)
  }
  return current
}

/** The outermost call around it; itself if that is not known, or if the parents run in a circle. */
function rootOf(state: SessionState, call: ToolCall): ToolCall {
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
