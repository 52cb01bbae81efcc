import { parseSync, Visitor } from 'rolldown/utils'
import { describe, expect, it } from 'vitest'
import { sourceTexts, type SourceText } from './workspace.js'

/*
 * A test that sleeps is slow on a fast machine, and fails on a slow one. These folders start programs, browsers and servers, whose
 * speed varies most.
 */

const FOLDERS = [
  'packages/agents/',
  'packages/cli/',
  'packages/connectors/',
  'packages/gateway/',
  'tests/agents/',
  'tests/connectors/',
  'tests/e2e/',
]

/** Tests that need a certain time to pass in another program, of which longer is as good. */
const EXCEPTIONS = [
  // Keys are ignored for 300 ms, and that they are accepted then is not drawn.
  'tests/connectors/attach.test.ts',
  // Codex waits 10 s for a command, by its own clock.
  'tests/agents/src/codex-rendezvous.test.ts',
]

/** Returns a line for each place that waits for a time. */
function findSleeps({ path, text }: SourceText): string[] {
  const found: number[] = []
  const sleepers = new Set<string>()
  new Visitor({
    ImportDeclaration({ source, specifiers }) {
      if (source.value !== 'node:timers/promises') return
      for (const { local } of specifiers) sleepers.add(local.name)
    },
  }).visit(parseSync(path, text).program)
  new Visitor({
    CallExpression(node) {
      const { callee, arguments: given } = node
      const isTimer = callee.type === 'Identifier' && callee.name === 'setTimeout'
      // Without a time it is one turn of the event loop.
      const isSleep =
        isTimer && given[0]?.type === 'Identifier' && given.length > 1 && !isZero(text, given[1]!)
      const isImported = callee.type === 'Identifier' && sleepers.has(callee.name)
      const isBrowser =
        callee.type === 'MemberExpression' &&
        callee.property.type === 'Identifier' &&
        callee.property.name === 'waitForTimeout'
      if (isSleep || isImported || isBrowser) found.push(node.start)
    },
  }).visit(parseSync(path, text).program)
  return found.map((start) => `${path}:${text.slice(0, start).split('\n').length}`)
}

function isZero(text: string, { start, end }: { start: number; end: number }): boolean {
  return text.slice(start, end) === '0'
}

const tests = sourceTexts().filter(
  ({ path }) => path.endsWith('.test.ts') && FOLDERS.some((folder) => path.startsWith(folder)),
)

it('tests that start programs do not sleep', () => {
  expect(tests.length).toBeGreaterThan(100)
  expect(tests.filter(({ path }) => !EXCEPTIONS.includes(path)).flatMap(findSleeps)).toEqual([])
})

it.each(EXCEPTIONS)('%s is still an exception', (exception) => {
  expect(tests.filter(({ path }) => path === exception).flatMap(findSleeps)).not.toEqual([])
})

describe('a sleep', () => {
  it.each([
    'await new Promise((resolve) => setTimeout(resolve, 20))',
    "import { setTimeout as delay } from 'node:timers/promises'; await delay(5)",
    'await page.waitForTimeout(100)',
  ])('is found in: %s', (text) => {
    expect(findSleeps({ path: 'a.ts', isTest: true, text })).toEqual(['a.ts:1'])
  })

  it.each([
    'await new Promise((resolve) => setTimeout(resolve, 0))',
    'const late = setTimeout(() => child.kill(), 5000)',
    "vi.useFakeTimers({ toFake: ['setTimeout'] })",
  ])('is not: %s', (text) => {
    expect(findSleeps({ path: 'a.ts', isTest: true, text })).toEqual([])
  })
})
