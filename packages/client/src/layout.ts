import type { SessionState } from '@askback/protocol'
import type { LaidTurn, Layout } from './layout-model.js'
import { layoutTurn } from './layout-turn.js'
import type { LiveBlock } from './live-blocks.js'
import { place, type PlacedTurn } from './placement.js'
import { share } from './share.js'
import type { Drawing } from './tool-block.js'

/** From a session's state to what is drawn of it. Pure: live events and their replay give the same. */
export function layout(state: SessionState, live: readonly LiveBlock[] = []): Layout {
  return createLayout()(state, live)
}

/** The same for one session over time: what did not change keeps its identity, and is not laid out again. */
export function createLayout(): (state: SessionState, live?: readonly LiveBlock[]) => Layout {
  const known = new Map<string, { facts: readonly unknown[]; laid: LaidTurn }>()
  let last: Layout | undefined

  return (state, live = []) => {
    const placement = place(state)
    const outputs = new Map(
      live.flatMap((block) => (block.type === 'tool_output' ? [[block.id, block.text]] : [])),
    )
    const drawing: Drawing = { state, placement, outputs }
    const drawn = withLiveTurn(placement.turns, state, live).map((placed) => {
      const making = placed.isLive ? live : []
      const facts = factsOf(placed, drawing, making)
      const before = known.get(placed.turn.key)
      if (before && isSame(before.facts, facts)) return before.laid
      const laid = share(before?.laid, layoutTurn(placed, drawing, making))
      known.set(placed.turn.key, { facts, laid })
      return laid
    })
    forgetOthers(known, drawn)
    const next = {
      turns: share(last?.turns, drawn),
      typing: isTyping(state),
      waiting: state.pending.size > 0,
    }
    const isUnchanged =
      last?.turns === next.turns && last.typing === next.typing && last.waiting === next.waiting
    return (last = last && isUnchanged ? last : next)
  }
}

/** L13: an agent that waits for a person does not type, whatever its turn says. */
export function isTyping({ activeTurnId, pending, ended }: SessionState): boolean {
  return activeTurnId !== null && pending.size === 0 && !ended
}

/** Blocks that are being made belong to the open turn, which may have nothing else yet. */
function withLiveTurn(
  turns: PlacedTurn[],
  state: SessionState,
  live: readonly LiveBlock[],
): (PlacedTurn & { isLive: boolean })[] {
  const open = turns.findLastIndex(({ turn }) => turn.turnId !== null && turn.turnId === state.activeTurnId)
  const index = open < 0 ? turns.length - 1 : open
  const marked = turns.map((placed, at) => ({ ...placed, isLive: at === index }))
  if (marked.length > 0 || live.length === 0) return marked
  const turn = { key: 'live', turnId: null, startedAt: state.createdAt, items: [] }
  return [{ turn, entries: [], isLive: true }]
}

/** Everything that the drawing of a turn depends on; the reducer keeps the identity of what it does not touch. */
function factsOf({ turn, entries }: PlacedTurn, drawing: Drawing, live: readonly LiveBlock[]): unknown[] {
  const { state, placement, outputs } = drawing
  const facts: unknown[] = [turn.key, turn.endedAt, turn.reason, state.ended, ...live]
  const aboutCall = (toolCallId: string): void => {
    facts.push(state.toolCalls.get(toolCallId), outputs.get(toolCallId))
    facts.push(...(placement.approvals.get(toolCallId) ?? []))
    facts.push(...(placement.questionnaires.get(toolCallId) ?? []))
    facts.push(...(placement.standing.get(toolCallId) ?? []))
    for (const child of placement.children.get(toolCallId) ?? []) aboutCall(child.toolCallId)
  }
  for (const entry of entries) {
    switch (entry.type) {
      case 'item':
        facts.push(entry.item)
        break
      case 'call':
        aboutCall(entry.call.toolCallId)
        break
      case 'placeholder':
        aboutCall(entry.toolCallId)
        break
      case 'standing':
        facts.push(entry.interaction)
        break
    }
  }
  return facts
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((fact, index) => Object.is(fact, b[index]))
}

function forgetOthers(known: Map<string, unknown>, drawn: readonly LaidTurn[]): void {
  if (known.size === drawn.length) return
  const keys = new Set(drawn.map(({ key }) => key))
  for (const key of known.keys()) if (!keys.has(key)) known.delete(key)
}
