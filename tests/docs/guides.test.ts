import * as core from '@askback/core'
import * as protocol from '@askback/protocol'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { transformWithOxc } from 'vite'
import { expect, it } from 'vitest'

const guides = new URL('../../docs/guides/', import.meta.url)
const zod: unknown = createRequire(new URL('../../packages/protocol/package.json', import.meta.url))('zod')

it('the custom tool of the guide runs and prints what the guide says', async () => {
  const guide = readFileSync(new URL('interactive-tools.md', guides), 'utf8')
  const samples = [...guide.matchAll(/```ts\n(.*?)```/gsu)].map(([, code = '']) => code)
  const sample = samples.find((code) => code.includes('defineInteraction(')) ?? ''
  const expected = /console\.log\(.*\) \/\/ (.*)\n/u.exec(sample)?.[1]
  const { code } = await transformWithOxc(sample, 'sample.ts')
  const body = code.replace(/^import (\{.*?\}) from ["'](.*?)["'];?$/gmu, 'const $1 = modules["$2"];')
  expect(body).not.toContain('import ')
  const printed: unknown[] = []
  const console = { log: (value: unknown) => printed.push(value) }
  // oxlint-disable-next-line typescript/no-implied-eval -- the sample is our own
  const run = new Function('modules', 'console', `return (async () => { ${body} })()`) as (
    ...values: unknown[]
  ) => Promise<void>
  await run({ '@askback/core': core, '@askback/protocol': protocol, zod }, console)
  expect(printed).toEqual([{ slot: 'Tuesday 9:00' }])
  expect(expected).toBe("{ slot: 'Tuesday 9:00' }")
})

it('the index links to every guide', () => {
  const index = readFileSync(new URL('README.md', guides), 'utf8')
  const missing = readdirSync(guides).filter((name) => name !== 'README.md' && !index.includes(`(${name})`))
  expect(missing).toEqual([])
})
