import { piecesOf } from '@askback/protocol'

interface HastNode {
  type: string
  tagName?: string
  value?: string
  children?: HastNode[]
  properties?: Record<string, unknown>
}

/** Spells hidden characters out in a tree of Markdown; blocks of code do so themselves. */
export function showHiddenCharacters() {
  return (tree: HastNode): void => visit(tree, false)
}

function visit(node: HastNode, isCode: boolean): void {
  if (!node.children) return
  node.children = node.children.flatMap((child) => {
    if (child.type !== 'text' || child.value === undefined) {
      if (child.tagName !== 'pre') visit(child, child.tagName === 'code')
      return [child]
    }
    return piecesOf(child.value, isCode ? 'code' : 'prose').map((piece): HastNode => {
      if ('shown' in piece) return { type: 'text', value: piece.shown }
      return {
        type: 'element',
        tagName: 'span',
        properties: { className: ['ab-hidden-character'] },
        children: [{ type: 'text', value: piece.name }],
      }
    })
  })
}
