import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { planOf } from './plan.js'

let folder = ''
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'askback-plans-'))))
afterAll(() => rm(folder, { recursive: true }))

const gemini = (path: string) =>
  planOf({ toolCallId: 'exit_plan_mode__1', title: `Requesting plan approval for: ${path}` }, 'gemini-cli')

it('finds the plan in the input of a call that leaves plan mode', async () => {
  const rawInput = { plan: '# Do it' }
  expect(await planOf({ toolCallId: 'c', kind: 'switch_mode', rawInput }, undefined)).toEqual({
    text: '# Do it',
  })
  expect(await planOf({ toolCallId: 'c', kind: 'execute', rawInput }, undefined)).toBeNull()
  expect(await planOf({ toolCallId: 'c', kind: 'switch_mode', rawInput: {} }, undefined)).toBeNull()
})

it('reads the file that Gemini names', async () => {
  const path = join(folder, 'plan.md')
  await writeFile(path, '# Do it')
  expect(await gemini(path)).toEqual({ text: '# Do it', path })
})

it('reads no file for another agent, another call or another title', async () => {
  const path = join(folder, 'plan.md')
  await writeFile(path, '# Do it')
  const title = `Requesting plan approval for: ${path}`
  expect(await planOf({ toolCallId: 'exit_plan_mode__1', title }, 'other')).toBeNull()
  expect(await planOf({ toolCallId: 'shell__1', title }, 'gemini-cli')).toBeNull()
  expect(await planOf({ toolCallId: 'exit_plan_mode__1', title: path }, 'gemini-cli')).toBeNull()
})

it('leaves a file that is missing, empty, too long or a folder to an approval of the path', async () => {
  const paths = ['missing.md', 'empty.md', 'long.md', '..md'].map((name) => join(folder, name))
  await writeFile(paths[1]!, ' \n')
  await writeFile(paths[2]!, 'x'.repeat(600_000))
  expect(await Promise.all(paths.map(gemini))).toEqual([null, null, null, null])
})
