import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { runSample } from './run-sample.js'

const guides = new URL('../../docs/guides/', import.meta.url)

it('the custom tool of the guide runs and prints what the guide says', async () => {
  const { printed, expected } = await runSample('docs/guides/interactive-tools.md', {
    containing: 'defineInteraction(',
  })
  expect(printed).toEqual(["{ slot: 'Tuesday 9:00' }"])
  expect(expected).toEqual(printed)
})

it.each([
  ['asking-from-typescript.md', 'autoAnswer('],
  ['testing.md', 'autoAnswer('],
  ['testing.md', 'NotAnswered'],
  ['testing.md', 'fakeClock('],
  ['embedding.md', 'askback.session('],
])('the sample of %s with %s prints what the guide says', async (guide, containing) => {
  const { printed, expected } = await runSample(`docs/guides/${guide}`, { containing })
  expect(expected).not.toEqual([])
  expect(printed).toEqual(expected)
})

it('an own server with the web app takes at most ten lines', () => {
  const guide = readFileSync(new URL('embedding.md', guides), 'utf8')
  const [, sample = ''] = /```ts\n(.*?)```/s.exec(guide) ?? []
  expect(sample).toContain("from 'express'")
  expect(sample.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(10)
})

it('the index links to every guide', () => {
  const index = readFileSync(new URL('README.md', guides), 'utf8')
  const missing = readdirSync(guides).filter((name) => name !== 'README.md' && !index.includes(`(${name})`))
  expect(missing).toEqual([])
})
