import { basename } from 'node:path'
import { parseSync, Visitor, type ParseResult } from 'rolldown/utils'
import { expect, it } from 'vitest'
import { sourceTexts, type SourceText } from './workspace.js'

/*
 * Plain English, as far as a program can check it: phrases and names that only we understood, and what to use in their place. Every
 * source of the repository is checked, so that the old words do not come back.
 */

/** In comments, in the titles of tests, and in the summaries of HTTP routes. */
const phrases: [RegExp, string][] = [
  [/\blessons? \d/i, 'say the lesson'],
  [/\b(take|takes|taken|took|taking) up\b(?! to\b)/i, 'start, read, claim or continue'],
  [/\b(give|gives|gave|giving) way\b/i, 'supersede'],
  [/\b(go|goes|went) alone\b/i, 'take the lock'],
  [/\badrift\b/i, 'outside the window'],
  [/\bhearing\b/i, 'listen or follow'],
  [/\bletters? (for|to|of) (an?|the|another|its) (agent|gateway|owner)\b/i, 'agent command'],
  [/\bwhoever\b/i, 'name the subject'],
  [/\banew\b/i, 'again'],
  [/\b(is|are|was|were|be|been|being) told\b/i, 'get, receive or see'],
  [/\blapse[sd]?\b/i, 'expire'],
  [/\bin doubt of\b/i, 'unsure whether'],
]

/** Words in the names of files, variables, functions, types and members. */
const words: [RegExp, string][] = [
  [/^(most|longest|shortest|largest) (?!increasing )/, 'max or min'],
  [/\btold\b/, 'what it is'],
  [/(?<!\b(foreign|phonetic|between|one) )\bletters?\b/, 'agent command'],
  [/\bhearing\b/, 'listener or follower'],
  [/\badrift\b/, 'outside window'],
  [/\bunwoken\b/, 'without resuming'],
  [/\blapse[sd]?\b/, 'expire'],
  [/\bgive way\b/, 'supersede'],
  [/\bunless there\b/, 'if not exists'],
  [/\bnudge\b/, 'retry now'],
  [/\bheld ms\b/, 'say what is held'],
]

const sources = sourceTexts().filter(({ path }) => !path.includes('plain-english'))

it.each([...new Set(sources.map(folderOf))])('%s is written in the words of the field', (folder) => {
  expect(sources.filter((source) => folderOf(source) === folder).flatMap(findUnclear)).toEqual([])
})

it('covers packages, apps, tests, benchmarks and scripts', () => {
  expect(new Set(sources.map(({ path }) => path.split('/')[0]))).toEqual(
    new Set(['packages', 'apps', 'tests', 'bench', 'scripts']),
  )
})

it.each([
  ['// See lesson 12.', 'a.ts: “lesson 1”: say the lesson'],
  ['/** The newer call gives way. */', 'a.ts: “gives way”: supersede'],
  ["it('a caller is told', () => {})", 'a.ts: “is told”: get, receive or see'],
  ["const route = { summary: 'Whoever asks' }", 'a.ts: “Whoever”: name the subject'],
  ['const MOST_SESSIONS = 1', 'a.ts: “MOST_SESSIONS”: max or min'],
  ['function giveWay() {}', 'a.ts: “giveWay”: supersede'],
  ['interface Told {}', 'a.ts: “Told”: what it is'],
  ['class A { #hearing = 1 }', 'a.ts: “hearing”: listener or follower'],
  ['type A = { adrift: boolean }', 'a.ts: “adrift”: outside window'],
])('%s is unclear', (text, finding) => {
  expect(findUnclear({ path: 'a.ts', isTest: false, text })).toEqual([finding])
})

it('the name of a file may be unclear, and words inside of others are not', () => {
  expect(findUnclear({ path: 'src/letters.ts', isTest: false, text: '' })).toEqual([
    'src/letters.ts: “letters”: agent command',
  ])
  const text = '// It shares and elapses.\nconst isUntoldly = "is told"'
  expect(findUnclear({ path: 'newsletters.ts', isTest: false, text })).toEqual([])
})

/** `packages/core` for all sources of that package. */
function folderOf({ path }: SourceText): string {
  return path.split('/').slice(0, -1).slice(0, 2).join('/')
}

function findUnclear({ path, text }: SourceText): string[] {
  const parsed = parseSync(path, text)
  const prose = [
    ...parsed.comments.map(({ value }) => withoutLineBreaks(value)),
    ...testTitles(parsed, text),
    ...routeSummaries(parsed),
  ]
  const names = [basename(path).replace(/\..*$/, ''), ...declaredNames(parsed)]
  return [
    ...prose.flatMap((each) => phrases.map(([phrase, plain]) => ({ found: phrase.exec(each)?.[0], plain }))),
    ...names.flatMap((name) =>
      words.map(([word, plain]) => ({ found: word.test(separated(name)) ? name : undefined, plain })),
    ),
  ].flatMap(({ found, plain }) => (found === undefined ? [] : [`${path}: “${found}”: ${plain}`]))
}

function withoutLineBreaks(comment: string): string {
  return comment.replaceAll(/\s*\n\s*\*?\s*/g, ' ')
}

/** `giveWay`, `give_way` and `give-way` become `give way`. */
function separated(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]/g, ' ')
    .toLowerCase()
}

function testTitles({ program }: ParseResult, text: string): string[] {
  const titles: string[] = []
  new Visitor({
    CallExpression({ callee, arguments: [title] }) {
      const isTest = /^(it|test|describe)\b/.test(text.slice(callee.start, callee.end))
      if (isTest && title?.type === 'Literal' && typeof title.value === 'string') titles.push(title.value)
    },
  }).visit(program)
  return titles
}

function routeSummaries({ program }: ParseResult): string[] {
  const summaries: string[] = []
  new Visitor({
    Property({ key, value }) {
      const isSummary = key.type === 'Identifier' && key.name === 'summary'
      if (isSummary && value.type === 'Literal' && typeof value.value === 'string')
        summaries.push(value.value)
    },
  }).visit(program)
  return summaries
}

function declaredNames({ program }: ParseResult): string[] {
  const names: string[] = []
  const add = (node: { type: string; name?: unknown } | null) => {
    if (typeof node?.name === 'string') names.push(node.name)
  }
  const addId = ({ id }: { id: { type: string; name?: unknown } | null }) => add(id)
  const addKey = ({ key }: { key: { type: string; name?: unknown } }) => add(key)
  new Visitor({
    VariableDeclarator: addId,
    FunctionDeclaration: addId,
    ClassDeclaration: addId,
    TSInterfaceDeclaration: addId,
    TSTypeAliasDeclaration: addId,
    MethodDefinition: addKey,
    PropertyDefinition: addKey,
    TSPropertySignature: addKey,
    TSMethodSignature: addKey,
  }).visit(program)
  return names
}
