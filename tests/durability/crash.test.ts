import { checkDatabase } from '@askback/store-sqlite'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { crashRounds } from './crash-rounds.js'
import { bundle, workFolder } from './bundle.js'

const ROUNDS = 20

const work = workFolder()
afterAll(work.remove)

it('a desk that is killed at any moment has everything it acknowledged once, and nothing else', async () => {
  const program = await bundle(new URL('child-desk.ts', import.meta.url), work.folder)
  const path = join(work.folder, 'crash.db')
  const report = await crashRounds({ program, path, rounds: ROUNDS, random: Math.random })
  expect(report.problems).toEqual([])
  const findings: string[] = []
  checkDatabase(path, (finding) => findings.push(finding))
  expect(findings).toEqual([])
  // Otherwise the kills did not happen during work.
  expect(report.acknowledged).toBeGreaterThan(ROUNDS)
  expect(report.unanswered).toBeGreaterThan(ROUNDS)
})
