import { attribute, element, hasClass, languageOf, type HastNode } from './hast.js'

/**
 * Words, and every other character that is not whitespace and no mark of Markdown. The marks may be missing from what is
 * drawn: they became emphasis, a list or a table.
 */
const WORDS = /[\p{L}\p{N}\p{M}]+|[^\p{L}\p{N}\p{M}\s!"#'()*+\-.:<=>[\\\]^_`|~&]/gu

/** Longer numbers do not fit beside a list. */
const LIST_NUMBER = /^(\d{1,3})[.)]/

const TASK = /\[([xX])\]/

/** These take up room on screen even without any text. */
const DRAWN_WITHOUT_TEXT = new Set(['hr', 'img', 'input', 'pre', 'li'])

/**
 * For text that somebody approves: Markdown leaves out link titles, definitions, excess table cells and more, and an agent
 * could put instructions there. Addresses and titles are written out, and list items get the number of the source. If words
 * of the source are then still missing, or out of order, the source is drawn instead. Must run before plugins that change
 * text.
 */
export function drawEveryWord() {
  return (tree: HastNode, file: { value: unknown }): void => {
    const source = String(file.value)
    writeOut(tree, source)
    const drawn: string[] = []
    collectDrawn(tree, source, drawn)
    if (!isBlank(tree) && containsInOrder(wordsOf(drawn.join(' ')), wordsOf(source))) return
    const code = element('code', 'language-markdown', source)
    tree.children = [{ type: 'element', tagName: 'pre', properties: {}, children: [code] }]
  }
}

function writeOut(node: HastNode, source: string): void {
  if (node.tagName === 'ol') {
    for (const item of node.children ?? []) {
      const number = listNumber(item, source)
      if (number !== undefined) item.properties = { ...item.properties, value: Number(number) }
    }
  }
  if (!node.children) return
  node.children = node.children.flatMap((child) => {
    writeOut(child, source)
    const address = addressOf(child)
    return address === '' ? [child] : [child, element('span', 'ab-address', ` (${address})`)]
  })
}

/** The address and the title of a link or an image, as far as its text does not say them. */
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
  // A task shows its mark in the place of a number.
  if (item.tagName !== 'li' || offset === undefined || hasClass(item, 'task-list-item')) return undefined
  return LIST_NUMBER.exec(source.slice(offset, offset + 4))?.[1]
}

/** The text that the components of `Markdown` and the browser draw for a node. */
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

/** The `x` of a task that is done, which is drawn as a checked box. */
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
