import type { Block, Container, Layout } from '@askback/client'

/** One thing in the flow of a conversation, drawn and skipped on its own. */
export type Row =
  | { type: 'block'; key: string; block: Block; isWaiting: boolean }
  | {
      type: 'container'
      key: string
      container: Exclude<Container, { blocks: Block[] }>
      isWaiting: false
    }
  | { type: 'turn_end'; key: string; end: 'error' | 'interrupted' | 'agent_lost'; isWaiting: false }

export function rowsOf({ turns }: Layout): Row[] {
  const rows: Row[] = []
  for (const { key, containers, reason, cause } of turns) {
    for (const container of containers) {
      if ('blocks' in container) for (const block of container.blocks) rows.push(blockRow(block))
      else rows.push({ type: 'container', key: container.key, container, isWaiting: false })
    }
    if (reason === 'error' || reason === 'interrupted') {
      rows.push({ type: 'turn_end', key: `end:${key}`, end: cause ?? reason, isWaiting: false })
    }
  }
  return rows
}

const known = new WeakMap<Block, Row>()

/** The same row for the same block: only what changed is drawn again. */
function blockRow(block: Block): Row {
  const before = known.get(block)
  if (before) return before
  const row: Row = { type: 'block', key: block.key, block, isWaiting: isWaiting(block) }
  known.set(block, row)
  return row
}

function isWaiting(block: Block): boolean {
  if (block.type === 'interaction') return block.open
  return block.type === 'tool' && block.call.waiting
}
