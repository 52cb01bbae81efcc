import { findNodeAtLocation, parseTree, type Node } from 'jsonc-parser'

export type Path = (string | number)[]

/**
 * Adds a member to an object, or an item to the end of a list, in the way the text is written. All that stands there
 * already stays as it is, to the byte.
 */
export function added(text: string, path: Path, key: string | null, value: unknown): string {
  const { node, children, root } = at(text, path)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const isOneLine = (root.children?.length ?? 0) > 0 && !text.trim().includes('\n')
  const unit = isOneLine ? '' : (/\n([ \t]+)\S/.exec(text)?.[1] ?? '  ')
  const newLine = (depth: number) => (isOneLine ? '' : `${eol}${unit.repeat(depth)}`)
  const depth = path.length + 1
  const written = JSON.stringify(value, null, unit).replaceAll('\n', newLine(depth))
  const name = key === null ? '' : `${JSON.stringify(key)}:${isOneLine ? '' : ' '}`
  const last = children.at(-1)
  const member = `${newLine(depth)}${name}${written}`
  return last
    ? replaced(text, end(last), end(last), `,${member}`)
    : replaced(text, node.offset + 1, end(node) - 1, `${member}${newLine(depth - 1)}`)
}

/** Takes away a member or an item, with the comma that it needed. */
export function removed(text: string, path: Path): string {
  const { node, children } = at(text, path.slice(0, -1))
  const key = path.at(-1)!
  const index =
    typeof key === 'number' ? key : children.findIndex((child) => child.children?.[0]?.value === key)
  const child = children[index]!
  const [before, after] = [children[index - 1], children[index + 1]]
  if (before) return replaced(text, end(before), end(child), '')
  return after
    ? replaced(text, child.offset, after.offset, '')
    : replaced(text, node.offset + 1, end(node) - 1, '')
}

function at(text: string, path: Path): { root: Node; node: Node; children: Node[] } {
  const root = parseTree(text)
  const node = root && findNodeAtLocation(root, path)
  if (!root || !node) throw new Error(`There is nothing at ${path.join('.')}.`)
  return { root, node, children: node.children ?? [] }
}

function end({ offset, length }: Node): number {
  return offset + length
}

function replaced(text: string, from: number, to: number, by: string): string {
  return `${text.slice(0, from)}${by}${text.slice(to)}`
}
