import { dirname } from 'node:path'
import { parseSync, Visitor, type ParseResult } from 'rolldown/utils'
import type { SourceText } from './workspace.js'

/*
 * Finds code that was copied from one folder to another. Each file becomes a sequence of tokens without comments, imports and
 * type declarations. A window of `minTokens` tokens starts at each line; two files that share a window hold a copy. Names are
 * compared by their pattern of repetition, so renaming the variables of a copy does not hide it. Names of properties,
 * literals and keywords are compared as they are, because code that differs in them does something else.
 */

export interface Duplicate {
  /** Both paths, in alphabetical order. */
  readonly files: readonly [string, string]
  /** First and last line of the copied code, in the order of `files`. Several copies between two files become one range. */
  readonly lines: readonly [LineRange, LineRange]
}

type LineRange = readonly [first: number, last: number]

interface Token {
  readonly text: string
  readonly line: number
  readonly isName: boolean
}

interface TokenWindow {
  readonly path: string
  readonly lines: LineRange
}

/** Returns the copies between files of different folders, sorted by path. */
export function findDuplicates(sources: readonly SourceText[], minTokens: number): Duplicate[] {
  const windows = new Map<string, TokenWindow[]>()
  for (const source of sources) {
    for (const [key, window] of windowsOf(source, minTokens)) {
      const equal = windows.get(key)
      if (equal) equal.push(window)
      else windows.set(key, [window])
    }
  }
  const duplicates = new Map<string, Duplicate>()
  for (const equal of windows.values()) {
    for (const [first, second] of pairsOf(equal)) {
      const key = `${first.path} | ${second.path}`
      const known = duplicates.get(key)
      duplicates.set(key, {
        files: [first.path, second.path],
        lines: [extended(known?.lines[0], first.lines), extended(known?.lines[1], second.lines)],
      })
    }
  }
  return [...duplicates].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, duplicate]) => duplicate)
}

function pairsOf(windows: readonly TokenWindow[]): [TokenWindow, TokenWindow][] {
  const sorted = windows.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  return sorted.flatMap((first, index) =>
    sorted
      .slice(index + 1)
      .filter((second) => dirname(second.path) !== dirname(first.path))
      .map((second): [TokenWindow, TokenWindow] => [first, second]),
  )
}

function extended(known: LineRange | undefined, added: LineRange): LineRange {
  return known ? [Math.min(known[0], added[0]), Math.max(known[1], added[1])] : added
}

function* windowsOf(source: SourceText, minTokens: number): Generator<[string, TokenWindow]> {
  const tokens = tokensOf(source)
  for (let start = 0; start + minTokens <= tokens.length; start += 1) {
    const { line } = tokens[start]!
    if (line === tokens[start - 1]?.line) continue
    const window = tokens.slice(start, start + minTokens)
    yield [normalised(window), { path: source.path, lines: [line, window.at(-1)!.line] }]
  }
}

/** Each name becomes the distance to its last use, so that only the pattern of names counts. */
function normalised(tokens: readonly Token[]): string {
  const lastUse = new Map<string, number>()
  return tokens
    .map(({ text, isName }, index) => {
      if (!isName) return text
      const used = lastUse.get(text)
      lastUse.set(text, index)
      return used === undefined ? '$' : `$${index - used}`
    })
    .join(' ')
}

const KEYWORDS = new Set(
  `abstract as async await boolean break case catch class const continue default delete do else export extends false
  finally for from function get if implements in instanceof keyof let never new null number of readonly return satisfies
  set static string super switch this throw true try type typeof undefined unknown void while yield`.split(
    /\s+/,
  ),
)

interface Span {
  readonly start: number
  readonly end: number
}

function tokensOf({ path, text }: SourceText): Token[] {
  const parsed = parseSync(path, text)
  const spans = [
    ...skippedSpans(parsed).map((span) => ({ ...span, isLiteral: false })),
    ...literalSpans(parsed).map((span) => ({ ...span, isLiteral: true })),
  ].toSorted((a, b) => a.start - b.start || b.end - a.end)
  const properties = propertyNames(parsed)
  const tokens: Token[] = []
  let position = 0
  let line = 1

  function countLines(until: number): void {
    for (; position < until; position += 1) if (text[position] === '\n') line += 1
  }

  function addTokens(until: number): void {
    const from = position
    for (const { 0: word, index } of text.slice(from, until).matchAll(/[\w$#]+|=>|\?\.|\S/g)) {
      countLines(from + index)
      const isName = /^[A-Za-z_$#]/.test(word) && !properties.has(from + index) && !KEYWORDS.has(word)
      tokens.push({ text: word, line, isName })
    }
    countLines(until)
  }

  for (const { start, end, isLiteral } of spans) {
    // Inside a span that was skipped.
    if (start < position) continue
    addTokens(start)
    if (isLiteral) tokens.push({ text: text.slice(start, end), line, isName: false })
    countLines(end)
  }
  addTokens(text.length)
  return tokens
}

function skippedSpans({ program, comments }: ParseResult): Span[] {
  const spans: Span[] = [...comments]
  const skip = (span: Span) => void spans.push(span)
  new Visitor({
    ImportDeclaration: skip,
    ExportAllDeclaration: skip,
    ExportNamedDeclaration: (node) => void (node.source && skip(node)),
    TSInterfaceDeclaration: skip,
    TSTypeAliasDeclaration: skip,
  }).visit(program)
  return spans
}

/** Where the names of properties begin: after a dot, and in an object. */
function propertyNames({ program }: ParseResult): Set<number> {
  const starts = new Set<number>()
  new Visitor({
    MemberExpression: ({ computed, property }) => void (computed || starts.add(property.start)),
    Property: ({ computed, key }) => void (computed || starts.add(key.start)),
  }).visit(program)
  return starts
}

/** Literals that may hold anything, white space and quotes among it. */
function literalSpans({ program }: ParseResult): Span[] {
  const spans: Span[] = []
  new Visitor({
    Literal(node) {
      if (typeof node.value === 'string' || 'regex' in node) spans.push(node)
    },
    TemplateElement: (node) => void spans.push(node),
    JSXText: (node) => void spans.push(node),
  }).visit(program)
  return spans
}
