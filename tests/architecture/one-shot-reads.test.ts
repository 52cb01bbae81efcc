import { parseSync, Visitor } from 'rolldown/utils'
import { describe, expect, it } from 'vitest'
import { sourceTexts, type SourceText } from './workspace.js'

/*
 * A page changes while a test looks at it. A test that reads it once passes on a fast machine and fails on a slow one. So the
 * tests in a browser wait for what they expect: with `expect.poll`, with `waitFor`, or with `pressUntil` for a control of a card.
 */

/** Methods of pages and locators that return what is there at the moment of the call, without waiting for anything. */
const READS = new Set(
  `all allInnerTexts allTextContents boundingBox count getAttribute innerHTML innerText inputValue isChecked isDisabled
  isEditable isEnabled isHidden isVisible serviceWorkers textContent title url workers`.split(/\s+/),
)

/** What a script in the page returns may change too, if it does not wait itself. */
const SCRIPTS = new Set(['evaluate', 'evaluateAll'])

/** A card refuses a press while it moves, so one press may not suffice. */
const CARD_CONTROL = /\b(Submit|Next|Approve once|Approve as edited|Deny|Proceed)\b/

interface Span {
  readonly start: number
  readonly end: number
}

const isWithin = (inner: Span, outer: Span) => inner.start >= outer.start && inner.end <= outer.end

/** Returns one line for each place that looks at a page once. */
function findOneShotReads({ path, text }: SourceText): string[] {
  const polls: Span[] = []
  const expectations: Span[] = []
  const awaits: Span[] = []
  const reads: Span[] = []
  const scripts: Span[] = []
  const presses: Span[] = []
  const declared: { name: string; value: Span }[] = []
  const names: { name: string; at: Span }[] = []
  new Visitor({
    AwaitExpression: (node) => void awaits.push(node),
    Identifier: (node) => void names.push({ name: node.name, at: node }),
    VariableDeclarator({ id, init }) {
      if (id.type === 'Identifier' && init) declared.push({ name: id.name, value: init })
    },
    CallExpression(node) {
      const { callee, arguments: given } = node
      const [first] = given
      if (callee.type === 'Identifier' && callee.name === 'expect' && first) expectations.push(first)
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return
      const { name } = callee.property
      if (READS.has(name)) reads.push(node)
      if (SCRIPTS.has(name)) scripts.push(node)
      const target = text.slice(callee.object.start, callee.object.end)
      if (target === 'expect' && name === 'poll') polls.push(node)
      if (name === 'click' && CARD_CONTROL.test(target)) presses.push(node)
    },
  }).visit(parseSync(path, text).program)

  const isPolled = (span: Span) => polls.some((poll) => isWithin(span, poll))
  const isAwaitOf = (calls: readonly Span[]) => (span: Span) =>
    calls.some((call) => call.end === span.end && isWithin(call, span))
  const once = declared
    .filter(({ value }) =>
      awaits.filter(isAwaitOf([...reads, ...scripts])).some((each) => isWithin(each, value)),
    )
    .filter(({ value }) => !isPolled(value))
    .map(({ name }) => name)

  const found: [Span, string][] = [
    ...expectations
      .filter((argument) => [...awaits, ...reads].some((each) => isWithin(each, argument)))
      .map((span): [Span, string] => [span, 'use expect.poll']),
    ...names
      .filter(({ name, at }) => once.includes(name) && expectations.some((each) => isWithin(at, each)))
      .map(({ at }): [Span, string] => [at, 'use expect.poll']),
    ...awaits
      .filter((span) => isConditional(text, span) && isAwaitOf(reads)(span) && !isPolled(span))
      .map((span): [Span, string] => [span, 'wait for it']),
    ...presses.map((span): [Span, string] => [span, 'use settle or pressUntil']),
  ]
  return [
    ...new Set(found.map(([{ start }, advice]) => `${path}:${lineAt(text, start)}: ${advice}`)),
  ].toSorted()
}

/** Whether the value decides what the test does next. */
function isConditional(text: string, { start }: Span): boolean {
  return /\b(if|while) \(!?\(?$|[&|?:;] !?\(?$/.test(text.slice(0, start))
}

function lineAt(text: string, position: number): number {
  return text.slice(0, position).split('\n').length
}

const inBrowser = sourceTexts().filter(({ path }) => path.startsWith('tests/e2e/web/'))

describe('tests in a browser', () => {
  it('has sources', () => {
    expect(inBrowser.length).toBeGreaterThan(15)
  })

  it('wait for what they expect of a page', () => {
    expect(inBrowser.flatMap(findOneShotReads)).toEqual([])
  })
})

describe('a look at a page', () => {
  it.each([
    ['expect(await button.isVisible()).toBe(true)', 'use expect.poll'],
    ['expect([await a(), await b()]).toEqual([1, 2])', 'use expect.poll'],
    ['expect((await standing()).status).toBe("pending")', 'use expect.poll'],
    ['expect(page.url()).toContain("#")', 'use expect.poll'],
    ['expect(page.title()).resolves.toBe("x")', 'use expect.poll'],
    ['const text = await row.textContent(); expect(text).toBe("x")', 'use expect.poll'],
    ['const box = (await row.boundingBox())!; expect(box.y).toBe(1)', 'use expect.poll'],
    ['const top = await row.evaluate(topOf); expect(top).toBe(1)', 'use expect.poll'],
    ['if (await fold.isVisible()) await fold.click()', 'wait for it'],
    ['while (!(await row.count())) scroll()', 'wait for it'],
    ['await page.getByRole("button", { name: "Submit" }).click()', 'use settle or pressUntil'],
  ])('is taken once in: %s', (text, advice) => {
    expect(findOneShotReads({ path: 'a.ts', isTest: true, text })).toEqual([`a.ts:1: ${advice}`])
  })

  it.each([
    'await expect.poll(() => button.isVisible()).toBe(true)',
    'await expect.poll(async () => (await row.count()) > 1 || (await row.isVisible())).toBe(true)',
    'await expect(command.ended).resolves.toEqual({ code: 0 })',
    'const box = (await row.boundingBox())!; await page.mouse.move(box.x, box.y)',
    'await pressUntil(page.getByRole("button", { name: "Next" }), () => second.isVisible())',
  ])('is repeated in: %s', (text) => {
    expect(findOneShotReads({ path: 'a.ts', isTest: true, text })).toEqual([])
  })
})
