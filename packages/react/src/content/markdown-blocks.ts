const FENCE = /^ {0,3}(`{3,}|~{3,})/
const LIST_ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s/
const DEFINITION = /^ {0,3}\[[^\]]+\]:\s*\S/

/**
 * Divides Markdown at blank lines into blocks that can be drawn on their own, so that only the last block is parsed
 * again while a text grows. Fences, and lists with what is indented under them, stay whole. Only blank lines between
 * blocks are left out.
 */
export function markdownBlocks(text: string): string[] {
  return splitBlocks(text).blocks
}

/** The same, with every link definition added to every block that may use it. */
export function linkedMarkdownBlocks(text: string): string[] {
  const { blocks, definitions } = splitBlocks(text)
  if (definitions.length === 0) return blocks
  return blocks.map((block) => (block.includes('[') ? `${block}\n\n${definitions.join('\n')}` : block))
}

function splitBlocks(text: string): { blocks: string[]; definitions: string[] } {
  const blocks: string[] = []
  const definitions: string[] = []
  let lines: string[] = []
  let fence: string | null = null
  let isBlankBefore = false

  const closeBlock = () => {
    while (lines.at(-1)?.trim() === '') lines.pop()
    if (lines.length > 0) blocks.push(lines.join('\n'))
    lines = []
  }

  for (const line of text.split('\n')) {
    const mark = FENCE.exec(line)?.[1]
    if (fence === null && isBlankBefore && !continuesBlock(lines, line)) closeBlock()
    if (fence === null && mark !== undefined) fence = mark
    else if (fence !== null && mark !== undefined && closesFence(line, mark, fence)) fence = null
    if (fence === null && DEFINITION.test(line)) definitions.push(line)
    isBlankBefore = fence === null && line.trim() === ''
    lines.push(line)
  }
  closeBlock()
  return { blocks, definitions }
}

function closesFence(line: string, mark: string, fence: string): boolean {
  return mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark
}

function continuesBlock(lines: readonly string[], line: string): boolean {
  const first = lines[0] ?? ''
  if (line.trim() === '' || lines.length === 0) return true
  return LIST_ITEM.test(first) && (LIST_ITEM.test(line) || /^\s{2,}\S/.test(line))
}

const MAX_BLOCK_CHARACTERS = 20_000
const MAX_BLOCK_LINES = 500
const MAX_BLOCK_MARKS = 800
const MARKS = /[*_~[\]<>&`|\\]/g
/** Quotes and lists inside of each other, on one line or by indentation. */
const DEEPLY_NESTED = /^(?:[ \t]*(?:>|[-*+](?=\s)|\d{1,9}[.)](?=\s))){12}|^[ \t]{60}/m

/**
 * Whether parsing a block would block the page, as the time grows with the square of the number of marks. What people
 * and agents normally write stays far below the limits.
 */
export function isCostlyToParse(block: string): boolean {
  if (block.length > MAX_BLOCK_CHARACTERS) return true
  if (FENCE.test(block)) return false
  return (
    countMatches(block, /\n/g) > MAX_BLOCK_LINES ||
    countMatches(block, MARKS) > MAX_BLOCK_MARKS ||
    DEEPLY_NESTED.test(block)
  )
}

function countMatches(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}
