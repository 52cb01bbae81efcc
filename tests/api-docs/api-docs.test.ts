import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { writeApiDocs } from '../../scripts/api-docs.mjs'

let folder: string
let written: Awaited<ReturnType<typeof writeApiDocs>>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'askback-api-'))
  written = await writeApiDocs(folder)
})
afterAll(() => rmSync(folder, { recursive: true }))

it('the API reference is made without warnings', () => {
  expect(written.warnings).toEqual([])
})

it('each export has a summary', () => {
  expect(written.undocumented).toEqual([])
})

it('an entry point has a page with its exports and their comments', () => {
  const page = readFileSync(join(folder, '@askback/core.md'), 'utf8')
  expect(page).toContain('### createDesk()')
  expect(page).toContain('The coordinator: opens interactions, settles each once, and resolves its waiters.')
})
