import { connect } from '@askback/client'
import type { EmbeddedAskback } from '@askback/gateway'
import { autoAnswer, pick } from '@askback/testing'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it, vi } from 'vitest'
import { root } from '../architecture/workspace.js'
import { readSample, runSample } from './run-sample.js'

const folder = mkdtempSync(join(tmpdir(), 'askback-readme-'))
let askback: EmbeddedAskback | undefined
afterAll(async () => {
  await askback?.close()
  vi.unstubAllGlobals()
  rmSync(folder, { recursive: true })
})

it('the sample of the README runs, and prints what the README says once a person has answered', async () => {
  // Between the sample and its call of `connect`, so that somebody answers who does not need a browser.
  vi.stubGlobal('connectWithPerson', (made: EmbeddedAskback) => {
    askback = made
    autoAnswer(made, { question: pick('SQLite') })
    return connect(made)
  })
  const { printed, expected } = await runSample('README.md', {
    replacements: {
      './askback.db': join(folder, 'askback.db'),
      'port: 4100': 'port: 0',
      'connect(askback)': 'connectWithPerson(askback)',
    },
  })
  expect(printed[0]).toMatch(/^Answer in the web app: http:/u)
  expect(printed.slice(1)).toEqual(expected)
  expect(expected).toEqual(['SQLite'])
})

it('the sample takes at most ten lines', () => {
  const lines = readSample('README.md').sample.split('\n')
  expect(lines.filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(10)
})

it('the moving picture is there, and at most 1 MB', () => {
  const [path = ''] = /docs\/images\/[\w.]+/u.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  const { size } = statSync(join(root, path))
  expect(size).toBeGreaterThan(0)
  expect(size).toBeLessThan(2 ** 20)
})
