import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { expect, it, vi } from 'vitest'
import { sqliteStore } from '@askback/store-sqlite'
import { startClaudeEndpoint } from './claude-endpoint.js'
import { folderOf } from './claude-folders.js'
import { claudeEnv, claudeSession } from './claude-session.js'
import { programsOf } from './processes.js'

vi.setConfig({ testTimeout: 60_000 })

it('a gateway that is killed leaves no program behind, and the next one on its database goes on', async () => {
  const options = ['Stay', 'Leave'].map((label) => ({ label, description: label }))
  const questions = [{ header: 'Now', question: 'And after the crash?', options, multiSelect: false }]
  const forever = { command: 'tail -f /dev/null', description: 'Runs', run_in_background: true }
  const background = { tool: 'Bash', input: forever }
  const endpoint = await startClaudeEndpoint(
    {
      when: 'ask before the crash',
      steps: [{ say: [background] }, { say: [{ tool: 'AskUserQuestion', input: { questions } }] }],
    },
    { when: 'And after the crash?', steps: [{ told: ['"Leave"'], say: [{ text: 'I leave.' }] }] },
  )
  const home = await folderOf('home')
  const cwd = await folderOf('work')
  const db = join(await folderOf('data'), 'askback.db')
  const { file, remove } = await bundled()

  const child = spawn(process.execPath, [file, db, cwd, 'ask before the crash'], {
    env: claudeEnv(endpoint.url, home),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [sessionId] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  expect((await programsOf(home)).length).toBeGreaterThan(1)
  child.kill('SIGKILL')
  // The program goes with its gateway. Had it stayed it would have told the model that the user said no.
  await once(child, 'exit')
  await vi.waitFor(async () => expect(await programsOf(home, 'claude')).toEqual([]), 20_000)
  expect(endpoint.of('ask before the crash')).toHaveLength(2)

  const store = sqliteStore({ path: db })
  const next = await claudeSession({ url: endpoint.url, before: { store, sessionId, home, cwd } })
  const [item] = await next.pending()
  await next.answer(item!, { answers: [{ selected: ['Leave'] }] })
  expect((await next.until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
  await next.close()
  expect(await programsOf(home)).toEqual([])
  await store.close()
  await remove()
  await endpoint.close()
  expect(endpoint.problems).toEqual([])
})

/** The child as one file, where it finds the real SDK. */
async function bundled(): Promise<{ file: string; remove: () => Promise<void> }> {
  const cache = fileURLToPath(new URL('../node_modules/.cache', import.meta.url))
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'askback-'))
  const build = await rolldown({
    input: fileURLToPath(new URL('gateway-child.ts', import.meta.url)),
    platform: 'node',
    external: ['libsql', '@anthropic-ai/claude-agent-sdk'],
    resolve: { conditionNames: ['askback-source', 'node', 'import', 'default'] },
  })
  const file = join(folder, 'child.mjs')
  await build.write({ file, format: 'esm', codeSplitting: false })
  await build.close()
  return { file, remove: () => rm(folder, { recursive: true }) }
}
