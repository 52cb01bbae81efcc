/** The part of a tree of HTML, as rehype plugins get it, that the plugins here read and write. */
export interface HastNode {
  type: string
  tagName?: string
  value?: string
  children?: HastNode[]
  properties?: Record<string, unknown>
  position?: { start: { offset?: number | undefined } } | undefined
}

export function element(tagName: string, className: string, text: string): HastNode {
  return {
    type: 'element',
    tagName,
    properties: { className: [className] },
    children: [{ type: 'text', value: text }],
  }
}

export function attribute(node: HastNode, name: string): string {
  const value = node.properties?.[name]
  return typeof value === 'string' ? value : ''
}

export function hasClass(node: HastNode, name: string): boolean {
  const classes = node.properties?.['className']
  return Array.isArray(classes) && classes.includes(name)
}

/** The language that a fence names, as the block of code shows it. */
export function languageOf(code: HastNode): string | undefined {
  const classes = code.properties?.['className']
  return Array.isArray(classes) ? String(classes[0]).replace('language-', '') : undefined
}
