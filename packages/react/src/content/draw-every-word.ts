import { attribute, createElement, hasClass, languageOf, type HastNode } from './markdown-plugins.js'

/**
 * Words, and every other character except whitespace and the marks of Markdown. Marks may be missing from what is
 * drawn: they became emphasis, a list or a table.
 */
const WORDS = /[\p{L}\p{N}\p{M}]+|[^\p{L}\p{N}\p{M}\s!"#'()*+\-.:<=>[\\\]^_`|~&]/gu

/** Longer numbers do not fit beside a list. */
const LIST_NUMBER = /^(\d{1,3})[.)]/

const TASK = /\[([xX])\]/

/** Elements that are visible even without text. */
const DRAWN_WITHOUT_TEXT = new Set(['hr', 'img', 'input', 'pre', 'li'])

/**
 * A plugin for text that a person approves. Markdown leaves out link titles, definitions, excess table cells and
 * more, where an agent could hide instructions. The plugin writes out addresses and titles, and gives list items the
 * numbers of the source. If words of the source are then still missing or out of order, the source is drawn instead.
 * It must run before plugins that change text.
 */
export function drawEveryWord() {
  return (tree: HastNode, file: { value: unknown }): void => {
    const source = String(file.value)
    writeOutAddresses(tree, source)
    const drawn: string[] = []
    collectDrawn(tree, source, drawn)
    if (!isBlank(tree) && containsInOrder(wordsOf(drawn.join(' ')), wordsOf(source))) return
    const code = createElement('code', 'language-markdown', source)
    tree.children = [{ type: 'element', tagName: 'pre', properties: {}, children: [code] }]
  }
}

function writeOutAddresses(node: HastNode, source: string): void {
  if (node.tagName === 'ol') {
    for (const item of node.children ?? []) {
      const number = listNumber(item, source)
      if (number !== undefined) item.properties = { ...item.properties, value: Number(number) }
    }
  }
  if (!node.children) return
  node.children = node.children.flatMap((child) => {
    writeOutAddresses(child, source)
    const address = addressOf(child)
    return address === '' ? [child] : [child, createElement('span', 'ab-address', ` (${address})`)]
  })
}

/** The address and the title of a link or an image, unless its text is the same. */
function addressOf(node: HastNode): string {
  const { tagName, children = [] } = node
  if (tagName !== 'a' && tagName !== 'img') return ''
  const address = attribute(node, tagName === 'a' ? 'href' : 'src')
  const title = attribute(node, 'title')
  const [only] = children
  const text = children.length === 1 && only?.type === 'text' ? only.value : undefined
  const isText = text !== undefined && ['', 'http://', 'mailto:'].some((start) => start + text === address)
  return [isText ? '' : address, title && `“${title}”`].filter((part) => part !== '').join(' ')
}

function listNumber(item: HastNode, source: string): string | undefined {
  const offset = item.position?.start.offset
  // A task shows its checkbox in place of a number.
  if (item.tagName !== 'li' || offset === undefined || hasClass(item, 'task-list-item')) return undefined
  return LIST_NUMBER.exec(source.slice(offset, offset + 4))?.[1]
}

/** Collects the text that the components of `Markdown` and the browser draw for a node. */
function collectDrawn(node: HastNode, source: string, drawn: string[]): void {
  // HTML is drawn as text.
  if (node.type === 'text' || node.type === 'raw') drawn.push(node.value ?? '')
  if (hasClass(node, 'sr-only')) return
  switch (node.tagName) {
    case 'img':
      drawn.push(attribute(node, 'alt'))
      break
    case 'pre':
      drawn.push((node.children?.[0] && languageOf(node.children[0])) ?? '')
      break
    case 'li':
      if (typeof node.properties?.['value'] === 'number') drawn.push(String(node.properties['value']))
      if (hasClass(node, 'task-list-item')) drawn.push(taskMark(node, source))
      break
    default:
  }
  for (const child of node.children ?? []) collectDrawn(child, source, drawn)
}

/** The `x` of a completed task, which is drawn as a checked box. */
function taskMark(item: HastNode, source: string): string {
  return TASK.exec(source.slice(item.position?.start.offset ?? source.length))?.[1] ?? ''
}

function isBlank(node: HastNode): boolean {
  if (node.value !== undefined && node.value.trim() !== '') return false
  if (node.tagName !== undefined && DRAWN_WITHOUT_TEXT.has(node.tagName)) return false
  return (node.children ?? []).every(isBlank)
}

function wordsOf(text: string): string[] {
  return text.match(WORDS) ?? []
}

function containsInOrder(words: string[], wanted: string[]): boolean {
  let found = 0
  for (const word of words) if (word === wanted[found]) found += 1
  return found === wanted.length
}
