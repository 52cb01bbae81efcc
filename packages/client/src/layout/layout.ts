import type { SessionState, Turn } from '@askback/protocol'
import type { LaidTurn, Layout } from './layout-model.js'
import { layoutTurn, withLive } from './layout-turn.js'
import type { LiveBlock } from './live-blocks.js'
import { entriesOf, indexOf, place, rootOf, shownIn, type TurnIndex } from './placement.js'
import { share } from './share.js'
import type { Drawing } from './tool-block.js'

/** From a session's state to what is drawn of it. Pure: live events and their replay give the same. */
export function layout(state: SessionState, live: readonly LiveBlock[] = []): Layout {
  return createLayout()(state, live)
}

const NONE: readonly never[] = []

interface Known {
  turn: Turn
  index: TurnIndex
  facts: unknown[]
  laid: LaidTurn
}

/**
 * The same for one session over time: what did not change keeps its identity and is not laid out again. It goes by the
 * identity of what it is given, so that a state must not be changed in place.
 */
export function createLayout(): (state: SessionState, live?: readonly LiveBlock[]) => Layout {
  let known = new Map<string, Known>()
  let before: SessionState | undefined
  let last: Layout | undefined

  return (state, live = []) => {
    const turns = [...earlier(state), ...state.turns]
    const indexes = turns.map((turn) => indexFor(turn, known.get(turn.key)))
    const outputs = new Map(
      live.flatMap((block) => (block.type === 'tool_output' ? [[block.id, block.text]] : [])),
    )
    const drawing: Drawing = { state, placement: place(state, indexes), outputs }
    const isQuiet = before !== undefined && outputs.size === 0 && concernsNoCall(before, state)
    const next = new Map<string, Known>()
    for (const [at, turn] of turns.entries()) {
      const index = indexes[at]!
      const was = known.get(turn.key)
      const isSame = isQuiet && was?.turn === turn
      const facts = isSame ? was.facts : factsOf(turn, index, drawing)
      const laid =
        was && (isSame || equals(was.facts, facts))
          ? was.laid
          : share(was?.laid, layoutTurn(turn, entriesOf(turn, index, state, drawing.placement), drawing))
      next.set(turn.key, { turn, index, facts, laid })
    }
    known = next
    // With output on the screen, even what has not changed is looked at: the output may end.
    before = outputs.size === 0 ? state : undefined
    const laid = drawLive(
      [...next.values()].map((one) => one.laid),
      drawing,
      live,
    )
    const typing = isTyping(state)
    const waiting = state.pendingIds.size > 0
    const shared = share(last?.turns, laid)
    const isUnchanged = last?.turns === shared && last.typing === typing && last.waiting === waiting
    return (last = last && isUnchanged ? last : { turns: shared, typing, waiting })
  }
}

/** L13: an agent that waits for a person does not type, whatever its turn says. */
export function isTyping({ activeTurnId, pendingIds, ended }: SessionState): boolean {
  return activeTurnId !== null && pendingIds.size === 0 && !ended
}

/** Pending interactions whose turn has left the window are still to be answered: they come first. */
function earlier(state: SessionState): Turn[] {
  if (state.adrift.size === 0) return []
  const items = [...state.adrift].map((interactionId) => ({ type: 'interaction' as const, interactionId }))
  return [{ key: 'earlier', turnId: null, startedAt: state.createdAt, items }]
}

/** Blocks that are being made belong to the open turn, which may have nothing else yet. */
function drawLive(turns: LaidTurn[], drawing: Drawing, live: readonly LiveBlock[]): LaidTurn[] {
  if (live.every(({ type }) => type === 'tool_output')) return turns
  const { activeTurnId, createdAt } = drawing.state
  const empty: LaidTurn = { key: 'live', turnId: null, startedAt: createdAt, containers: [] }
  if (turns.length === 0) return [withLive(empty, drawing, live)]
  const open = turns.findLastIndex(({ turnId }) => turnId !== null && turnId === activeTurnId)
  const index = open < 0 ? turns.length - 1 : open
  return turns.with(index, withLive(turns[index]!, drawing, live))
}

function indexFor(turn: Turn, known: Known | undefined): TurnIndex {
  return known?.turn === turn ? known.index : indexOf(turn)
}

/** Whether calls and interactions are as they were, so that a turn is drawn as before unless it has changed itself. */
function concernsNoCall(before: SessionState, after: SessionState): boolean {
  return (
    before.toolCalls === after.toolCalls &&
    before.interactions === after.interactions &&
    before.ended === after.ended
  )
}

/** Everything that the drawing of a turn depends on; the reducer keeps the identity of what it does not touch. */
function factsOf(turn: Turn, index: TurnIndex, drawing: Drawing): unknown[] {
  const { state, placement, outputs } = drawing
  const { approvals, questionnaires, standing, children } = placement
  const facts: unknown[] = [turn, state.ended]
  const aboutCall = (toolCallId: string): void => {
    const call = state.toolCalls.get(toolCallId)
    facts.push(call)
    // The call around it may be in another turn, and come later.
    if (call?.parentToolCallId !== undefined) facts.push(rootOf(state, call))
    const output = outputs.get(toolCallId)
    if (output !== undefined) facts.push(output)
    for (const map of [approvals, questionnaires, standing]) {
      for (const about of map.get(toolCallId) ?? NONE) {
        facts.push(about, placement.replaced.get(about.interactionId)?.join())
      }
    }
    for (const child of children.get(toolCallId) ?? []) aboutCall(child.toolCallId)
  }
  for (const id of index.calls) aboutCall(id)
  for (const id of index.interactions) {
    const shown = shownIn(index, id, placement)
    facts.push(shown, shown && placement.replaced.get(shown.interactionId)?.join())
    if (shown && !state.toolCalls.has(shown.toolCallId)) aboutCall(shown.toolCallId)
  }
  return facts
}

function equals(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((fact, index) => Object.is(fact, b[index]))
}
