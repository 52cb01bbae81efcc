import type { HastNode } from './hast.js'

/** Lets each block of Markdown be read from the side on which its words begin. Code never turns around. */
export function readingDirection() {
  return (tree: HastNode): void => {
    for (const block of tree.children ?? []) if (block.tagName !== undefined) turn(block, 'auto')
    keepCode(tree)
  }
}

function keepCode(node: HastNode): void {
  if (node.tagName === 'code') turn(node, 'ltr')
  else node.children?.forEach(keepCode)
}

function turn(node: HastNode, dir: 'auto' | 'ltr'): void {
  node.properties = { ...node.properties, dir }
}
