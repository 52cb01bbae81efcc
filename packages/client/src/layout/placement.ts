import type { Interaction, SessionState, ToolCall, Turn, TurnItem } from '@askback/protocol'

type TextItem = Exclude<TurnItem, { type: 'tool_call' | 'interaction' }>

/** Something that has a position of its own in a turn. Everything else is shown at one of these. */
export type TurnEntry =
  | { type: 'item'; item: TextItem }
  | { type: 'call'; call: ToolCall }
  /** An approval whose tool call is not in the log: it gets a block that stands for the call. */
  | { type: 'placeholder'; approval: Interaction }
  /** A questionnaire whose tool call is not in the log. */
  | { type: 'questionnaire'; interaction: Interaction }

/** The ids of the tool calls and interactions of a turn, each once. */
export interface TurnIndex {
  calls: Set<string>
  interactions: Set<string>
}

/**
 * Where each tool call and interaction is shown. The tool call decides, not the turn of the event: an interaction may name
 * another turn than the call it is about.
 */
export interface Placement {
  /**
   * What is shown where an interaction was opened, by its id: the interaction, or the one that superseded it. Each is shown once,
   * at the first of these positions.
   */
  shown: Map<string, { interaction: Interaction; in: TurnIndex }>
  /** By tool call, in the order they were opened. */
  approvals: Map<string, Interaction[]>
  /** By tool call, in the order they were opened. */
  questionnaires: Map<string, Interaction[]>
  /** The same by the outermost call, where they are shown: the questionnaire of a subagent must not be hidden inside a block. */
  questionnairesByRoot: Map<string, Interaction[]>
  /** The calls inside each call. */
  children: Map<string, ToolCall[]>
  /** The ids of the interactions that this one replaces, oldest first. */
  replaced: Map<string, string[]>
}

export function placeAll(state: SessionState, indexes: readonly TurnIndex[]): Placement {
  const placement: Placement = {
    shown: new Map(),
    approvals: new Map(),
    questionnaires: new Map(),
    questionnairesByRoot: new Map(),
    children: new Map(),
    replaced: new Map(),
  }
  const seen = new Set<string>()
  for (const index of indexes) {
    for (const id of index.calls) placeCall(state, id, placement)
    for (const id of index.interactions) {
      const first = state.interactions.get(id)
      const current = first && latestOf(state, first, placement)
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

/** What this turn shows for an interaction that was opened in it, if anything. */
export function shownIn(
  index: TurnIndex,
  interactionId: string,
  { shown }: Placement,
): Interaction | undefined {
  const found = shown.get(interactionId)
  return found?.in === index ? found.interaction : undefined
}

/** The entries of a turn, in order. */
export function entriesOf(
  turn: Turn,
  index: TurnIndex,
  state: SessionState,
  placement: Placement,
): TurnEntry[] {
  const entries: TurnEntry[] = []
  const remaining = new Set(index.interactions)
  for (const item of turn.items) {
    if (item.type === 'tool_call') {
      const call = state.toolCalls.get(item.toolCallId)
      if (call && rootOf(state, call) === call) entries.push({ type: 'call', call })
    } else if (item.type === 'interaction') {
      if (!remaining.delete(item.interactionId)) continue
      const interaction = shownIn(index, item.interactionId, placement)
      if (interaction) entries.push(...entriesWithoutCall(interaction, state, placement))
    } else entries.push({ type: 'item', item })
  }
  return entries
}

/** An interaction whose tool call is in the log is shown there, and needs no entry. */
function entriesWithoutCall(
  interaction: Interaction,
  { toolCalls }: SessionState,
  { approvals }: Placement,
): TurnEntry[] {
  const { toolCallId, presentation } = interaction
  if (toolCalls.has(toolCallId)) return []
  if (presentation === 'questionnaire') return [{ type: 'questionnaire', interaction }]
  return approvals.get(toolCallId)?.[0] === interaction
    ? [{ type: 'placeholder', approval: interaction }]
    : []
}

function placeCall(state: SessionState, toolCallId: string, { children }: Placement): void {
  const call = state.toolCalls.get(toolCallId)
  if (call?.parentToolCallId !== undefined && rootOf(state, call) !== call) {
    addTo(children, call.parentToolCallId, call)
  }
}

function placeInteraction(state: SessionState, interaction: Interaction, placement: Placement): void {
  const { toolCallId, presentation } = interaction
  if (presentation === 'tool') return addTo(placement.approvals, toolCallId, interaction)
  addTo(placement.questionnaires, toolCallId, interaction)
  const call = state.toolCalls.get(toolCallId)
  if (call) addTo(placement.questionnairesByRoot, rootOf(state, call).toolCallId, interaction)
}

/** The interaction that superseded this one, and so on to the end of the chain; itself if it was not superseded. */
function latestOf(state: SessionState, first: Interaction, { replaced }: Placement): Interaction {
  const superseded: string[] = []
  let current = first
  while (current.settlement === 'superseded' && current.supersededBy !== undefined) {
    const next = state.interactions.get(current.supersededBy)
    if (!next || superseded.includes(next.interactionId)) break
    superseded.push(current.interactionId)
    current = next
  }
  if (superseded.length > 0 && !replaced.has(current.interactionId))
    replaced.set(current.interactionId, superseded)
  return current
}

/** The outermost call around this one; the call itself if its parent is not known, or if the parents form a circle. */
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

function addTo<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}
