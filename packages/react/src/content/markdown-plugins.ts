import { splitHiddenCharacters } from '@askback/protocol'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'

interface Extensions {
  micromarkExtensions?: unknown[]
  fromMarkdownExtensions?: unknown[]
}

/**
 * Reads tables, task lists, strikethrough and bare links, as `remark-gfm` does. That package also contains the writer
 * of Markdown, 15 kB of the first load that nothing here needs.
 */
export function readGfm(this: { data: () => object }): void {
  // oxlint-disable-next-line oxc/no-this-in-exported-function -- a plugin of unified gets its processor as `this`
  const data: Extensions = this.data()
  data.micromarkExtensions = [...(data.micromarkExtensions ?? []), gfm()]
  data.fromMarkdownExtensions = [...(data.fromMarkdownExtensions ?? []), gfmFromMarkdown()]
}

/** Spells out hidden characters in a tree of Markdown, except in code blocks, which do so themselves. */
export function showHiddenCharacters() {
  return (tree: HastNode): void => spellOutIn(tree, false)
}

function spellOutIn(node: HastNode, isCode: boolean): void {
  if (!node.children) return
  node.children = node.children.flatMap((child) => {
    // HTML (`raw`) is drawn as text later.
    if ((child.type !== 'text' && child.type !== 'raw') || child.value === undefined) {
      if (child.tagName !== 'pre') spellOutIn(child, child.tagName === 'code')
      return [child]
    }
    return splitHiddenCharacters(child.value, isCode ? 'code' : 'prose').map((piece): HastNode => {
      if ('shown' in piece) return { type: 'text', value: piece.shown }
      return createElement('span', 'ab-hidden-character', piece.name)
    })
  })
}

/** Lets each block be read from the side on which its words begin. Code is always read from the left. */
export function readingDirection() {
  return (tree: HastNode): void => {
    for (const block of tree.children ?? []) if (block.tagName !== undefined) setDirection(block, 'auto')
    setCodeDirection(tree)
  }
}

function setCodeDirection(node: HastNode): void {
  if (node.tagName === 'code') setDirection(node, 'ltr')
  else node.children?.forEach(setCodeDirection)
}

function setDirection(node: HastNode, dir: 'auto' | 'ltr'): void {
  node.properties = { ...node.properties, dir }
}

/** The fields of a HTML syntax tree (hast) that the plugins here read and write. */
export interface HastNode {
  type: string
  tagName?: string
  value?: string
  children?: HastNode[]
  properties?: Record<string, unknown>
  position?: { start: { offset?: number | undefined } } | undefined
}

export function createElement(tagName: string, className: string, text: string): HastNode {
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

/** The language that a code fence names. */
export function languageOf(code: HastNode): string | undefined {
  const classes = code.properties?.['className']
  return Array.isArray(classes) ? String(classes[0]).replace('language-', '') : undefined
}
