interface HastNode {
  tagName?: string
  children?: HastNode[]
  properties?: Record<string, unknown>
}

const PROSE = new Set(['p', 'li', 'ul', 'ol', 'blockquote', 'th', 'td', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6'])

/** Lets each piece of Markdown be read from the side on which its words begin. Code never turns around. */
export function readingDirection() {
  return visit
}

function visit(node: HastNode): void {
  const { tagName = '' } = node
  if (PROSE.has(tagName)) node.properties = { ...node.properties, dir: 'auto' }
  if (tagName === 'code') node.properties = { ...node.properties, dir: 'ltr' }
  node.children?.forEach(visit)
}
