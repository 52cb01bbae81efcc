import { expect, it } from 'vitest'
import { runSample } from './run-sample.js'

it('the sample of the README runs and prints what the README says', async () => {
  const { printed, expected } = await runSample('README.md')
  expect(printed).toEqual(expected)
  expect(expected.join()).toContain('SQLite')
})
