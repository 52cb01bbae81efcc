import * as core from '@askback/core'
import { readFileSync } from 'node:fs'
import { format } from 'node:util'
import { transformWithOxc } from 'vite'
import { expect, it } from 'vitest'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

it('the sample of the README runs and prints what the README says', async () => {
  const sample = /```ts\n(.*?)```/su.exec(readme)?.[1] ?? ''
  const expected = /console\.log\(.*\) \/\/ (.*)\n/u.exec(sample)?.[1]
  const { code } = await transformWithOxc(sample, 'sample.ts')
  const body = code.replace(/^import (\{.*?\}) from ["']@askback\/core["'];?$/mu, 'const $1 = core;')
  expect(body).not.toContain('import ')
  const printed: unknown[] = []
  const console = { log: (value: unknown) => printed.push(value) }
  // oxlint-disable-next-line typescript/no-implied-eval -- the sample is our own
  const run = new Function('core', 'console', `return (async () => { ${body} })()`) as (
    ...values: unknown[]
  ) => Promise<void>
  await run(core, console)
  // Formatted as `console.log` of Node prints it.
  expect(printed.map((value) => format(value))).toEqual([expected])
  expect(expected).toContain('SQLite')
})
