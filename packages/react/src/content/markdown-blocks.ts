const FENCE = /^ {0,3}(`{3,}|~{3,})/
const LIST_ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s/
const DEFINITION = /^ {0,3}\[[^\]]+\]:\s*\S/

/**
 * Divides Markdown at blank lines into pieces that can be drawn on their own, so that a text that grows is parsed at its
 * end only. Fences, lists and what is indented under them stay whole. Nothing but blank lines between blocks is left out.
 */
export function markdownBlocks(text: string): string[] {
  return divide(text).blocks
}

/** The same, with every definition in every block: a link by reference finds its address wherever that stands. */
export function linkedMarkdownBlocks(text: string): string[] {
  const { blocks, definitions } = divide(text)
  if (definitions.length === 0) return blocks
  return blocks.map((block) => (block.includes('[') ? `${block}\n\n${definitions.join('\n')}` : block))
}

function divide(text: string): { blocks: string[]; definitions: string[] } {
  const blocks: string[] = []
  const definitions: string[] = []
  let lines: string[] = []
  let fence: string | null = null
  let isBlankBefore = false

  const close = () => {
    while (lines.at(-1)?.trim() === '') lines.pop()
    if (lines.length > 0) blocks.push(lines.join('\n'))
    lines = []
  }

  for (const line of text.split('\n')) {
    const mark = FENCE.exec(line)?.[1]
    if (fence === null && isBlankBefore && !continues(lines, line)) close()
    if (fence === null && mark !== undefined) fence = mark
    else if (fence !== null && mark !== undefined && closes(line, mark, fence)) fence = null
    if (fence === null && DEFINITION.test(line)) definitions.push(line)
    isBlankBefore = fence === null && line.trim() === ''
    lines.push(line)
  }
  close()
  return { blocks, definitions }
}

function closes(line: string, mark: string, fence: string): boolean {
  return mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark
}

function continues(lines: readonly string[], line: string): boolean {
  const first = lines[0] ?? ''
  if (line.trim() === '' || lines.length === 0) return true
  return LIST_ITEM.test(first) && (LIST_ITEM.test(line) || /^\s{2,}\S/.test(line))
}
