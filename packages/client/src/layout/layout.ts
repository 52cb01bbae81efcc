import type { SessionState, Turn } from '@askback/protocol'
import type { Layout, TurnLayout } from './layout-model.js'
import { layoutTurn, withLive } from './layout-turn.js'
import type { LiveBlock } from './live-blocks.js'
import { entriesOf, indexOf, placeAll, rootOf, shownIn, type TurnIndex } from './placement.js'
import type { LayoutContext } from './tool-block.js'

/**
 * Lays out a session: decides what is shown where. It is pure, so live events and their replay give the same layout.
 *
 * @param live - the unfinished blocks
 *
 * @example
 * for (const turn of layout(state).turns) console.log(turn.containers)
 */
export function layout(state: SessionState, live: readonly LiveBlock[] = []): Layout {
  return createLayout()(state, live)
}

const NONE: readonly never[] = []

/** A turn as it was laid out the last time. `inputs` is everything that its layout depends on. */
interface CachedTurn {
  turn: Turn
  index: TurnIndex
  inputs: unknown[]
  laid: TurnLayout
}

/**
 * `layout` for one session over time: the returned function remembers the last layout. What did not change is not laid out again
 * and keeps its identity, so that a surface draws only what is new. It compares the parts of the state by identity, so a state
 * must not be changed in place.
 */
export function createLayout(): (state: SessionState, live?: readonly LiveBlock[]) => Layout {
  let cached = new Map<string, CachedTurn>()
  let before: SessionState | undefined
  let lastLayout: Layout | undefined

  return (state, live = []) => {
    const turns = [...turnOfOlderPending(state), ...state.turns]
    const indexes = turns.map((turn) => indexFor(turn, cached.get(turn.key)))
    const outputs = new Map(
      live.flatMap((block) => (block.type === 'tool_output' ? [[block.id, block.text]] : [])),
    )
    const context: LayoutContext = { state, placement: placeAll(state, indexes), outputs }
    const areCallsUnchanged = before !== undefined && outputs.size === 0 && hasSameCalls(before, state)
    const next = new Map<string, CachedTurn>()
    for (const [at, turn] of turns.entries()) {
      const index = indexes[at]!
      const last = cached.get(turn.key)
      const isSame = areCallsUnchanged && last?.turn === turn
      const inputs = isSame ? last.inputs : inputsOf(turn, index, context)
      const laid =
        last && (isSame || areIdentical(last.inputs, inputs))
          ? last.laid
          : share(last?.laid, layoutTurn(turn, entriesOf(turn, index, state, context.placement), context))
      next.set(turn.key, { turn, index, inputs, laid })
    }
    cached = next
    // While there is output on the screen, every turn is checked the next time: the output may have ended.
    before = outputs.size === 0 ? state : undefined
    const laid = withLiveBlocks(
      [...next.values()].map((each) => each.laid),
      context,
      live,
    )
    const typing = isTyping(state)
    const waiting = state.pendingIds.size > 0
    const shared = share(lastLayout?.turns, laid)
    const isUnchanged =
      lastLayout?.turns === shared && lastLayout.typing === typing && lastLayout.waiting === waiting
    return (lastLayout = lastLayout && isUnchanged ? lastLayout : { turns: shared, typing, waiting })
  }
}

/** Whether the agent works. While something is pending it does not, even if its turn is active (L13). */
export function isTyping({ activeTurnId, pendingIds, ended }: SessionState): boolean {
  return activeTurnId !== null && pendingIds.size === 0 && !ended
}

/** Pending interactions whose turn has left the window must still be answered: they are shown in a turn before the others. */
function turnOfOlderPending(state: SessionState): Turn[] {
  if (state.pendingOutsideWindow.size === 0) return []
  const items = [...state.pendingOutsideWindow].map((interactionId) => ({
    type: 'interaction' as const,
    interactionId,
  }))
  return [{ key: 'earlier', turnId: null, startedAt: state.createdAt, items }]
}

/** Unfinished blocks belong to the open turn, which may have nothing else yet. */
function withLiveBlocks(
  turns: TurnLayout[],
  context: LayoutContext,
  live: readonly LiveBlock[],
): TurnLayout[] {
  if (live.every(({ type }) => type === 'tool_output')) return turns
  const { activeTurnId, createdAt } = context.state
  const empty: TurnLayout = { key: 'live', turnId: null, startedAt: createdAt, containers: [] }
  if (turns.length === 0) return [withLive(empty, context, live)]
  const open = turns.findLastIndex(({ turnId }) => turnId !== null && turnId === activeTurnId)
  const index = open < 0 ? turns.length - 1 : open
  return turns.with(index, withLive(turns[index]!, context, live))
}

function indexFor(turn: Turn, cached: CachedTurn | undefined): TurnIndex {
  return cached?.turn === turn ? cached.index : indexOf(turn)
}

/** If calls and interactions are the same, a turn that has not changed itself is laid out as before. */
function hasSameCalls(before: SessionState, after: SessionState): boolean {
  return (
    before.toolCalls === after.toolCalls &&
    before.interactions === after.interactions &&
    before.ended === after.ended
  )
}

/** Everything that the layout of a turn depends on. `reduce` keeps the identity of what it does not change. */
function inputsOf(turn: Turn, index: TurnIndex, context: LayoutContext): unknown[] {
  const { state, placement, outputs } = context
  const { approvals, questionnaires, questionnairesByRoot, children } = placement
  const inputs: unknown[] = [turn, state.ended]
  const addCall = (toolCallId: string): void => {
    const call = state.toolCalls.get(toolCallId)
    inputs.push(call)
    // The call around it may be in another turn, and be reported later.
    if (call?.parentToolCallId !== undefined) inputs.push(rootOf(state, call))
    const output = outputs.get(toolCallId)
    if (output !== undefined) inputs.push(output)
    for (const map of [approvals, questionnaires, questionnairesByRoot]) {
      for (const interaction of map.get(toolCallId) ?? NONE) {
        inputs.push(interaction, placement.replaced.get(interaction.interactionId)?.join())
      }
    }
    for (const child of children.get(toolCallId) ?? []) addCall(child.toolCallId)
  }
  for (const id of index.calls) addCall(id)
  for (const id of index.interactions) {
    const shown = shownIn(index, id, placement)
    inputs.push(shown, shown && placement.replaced.get(shown.interactionId)?.join())
    if (shown && !state.toolCalls.has(shown.toolCallId)) addCall(shown.toolCallId)
  }
  return inputs
}

function areIdentical(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => Object.is(value, b[index]))
}

/**
 * `next`, with every keyed part that equals its counterpart in `before` replaced by that one, so that what did not change keeps
 * its identity. Parts without a `key` are compared by identity.
 */
function share<T>(before: unknown, next: T): T {
  if (Object.is(before, next)) return next
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every part of the result is one of `next`, or equal to it
  if (Array.isArray(next)) return (Array.isArray(before) ? shareArray(before, next) : next) as T
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every part of the result is one of `next`, or equal to it
  return isKeyed(next) && isKeyed(before) ? (shareObject(before, next) as T) : next
}

function shareArray(before: readonly unknown[], next: readonly unknown[]): readonly unknown[] {
  let byKey: Map<string, unknown> | undefined
  const counterpart = (item: unknown, index: number): unknown => {
    const atIndex = before[index]
    if (!isKeyed(item) || (isKeyed(atIndex) && atIndex.key === item.key)) return atIndex
    // Most parts are at the same index as before; the others are found by key.
    byKey ??= new Map(before.flatMap((one) => (isKeyed(one) ? [[one.key, one]] : [])))
    return byKey.get(item.key)
  }
  const shared = next.map((item, index) => share(counterpart(item, index), item))
  const isSame =
    shared.length === before.length && shared.every((item, index) => Object.is(item, before[index]))
  return isSame ? before : shared
}

function shareObject(before: Keyed, next: Keyed): Keyed {
  const names = Object.keys(next)
  const shared: Keyed = { key: next.key }
  for (const name of names) shared[name] = share(before[name], next[name])
  const isSame =
    names.length === Object.keys(before).length &&
    names.every((name) => Object.hasOwn(before, name) && Object.is(shared[name], before[name]))
  return isSame ? before : shared
}

interface Keyed {
  key: string
  [name: string]: unknown
}

function isKeyed(value: unknown): value is Keyed {
  return typeof value === 'object' && value !== null && 'key' in value && typeof value.key === 'string'
}
