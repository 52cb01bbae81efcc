import { piecesOf } from '@askback/protocol'
import { element, type HastNode } from './hast.js'

/** Spells hidden characters out in a tree of Markdown; blocks of code do so themselves. */
export function showHiddenCharacters() {
  return (tree: HastNode): void => visit(tree, false)
}

function visit(node: HastNode, isCode: boolean): void {
  if (!node.children) return
  node.children = node.children.flatMap((child) => {
    // HTML (`raw`) is drawn as text later.
    if ((child.type !== 'text' && child.type !== 'raw') || child.value === undefined) {
      if (child.tagName !== 'pre') visit(child, child.tagName === 'code')
      return [child]
    }
    return piecesOf(child.value, isCode ? 'code' : 'prose').map((piece): HastNode => {
      if ('shown' in piece) return { type: 'text', value: piece.shown }
      return element('span', 'ab-hidden-character', piece.name)
    })
  })
}
