import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../architecture/workspace.js'
import { codeOf, countLines } from './count-lines.js'

const examples = readdirSync(join(root, 'examples')).filter((name) => !name.endsWith('.md'))

it.each(examples)('the example %s has at most 40 lines of code, and says how to run it', (example) => {
  const files = codeOf(example)
  expect(files).not.toEqual([])
  expect(countLines(...files)).toBeLessThanOrEqual(40)
  expect(readFileSync(join(root, 'examples', example, 'README.md'), 'utf8')).toMatch(/^# .*\n\n[^]*npm /u)
})

it.each([
  ['an own server with the web app', 10, 'examples/express/server.mjs'],
  ['an inbox in React', 12, 'examples/vite-react/main.tsx'],
  ['desk, store and inbox in one page', 20, 'examples/in-process/main.tsx'],
])('%s takes at most %i lines', (_, most, path) => {
  expect(countLines(path)).toBeLessThanOrEqual(most)
})
