import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { claudePrint } from './claude-code-cli.js'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeEnv, claudeSession } from './claude-session.js'
import { folderOf } from './folders.js'

/** Everything in which the requests to the model differ from those of `claude -p` in the same folder, with the reason. */
const DIFFERENCES = [
  { only: 'ours', tool: 'AskUserQuestion', why: 'claude -p has nobody to ask' },
  { only: 'ours', tool: 'ExitPlanMode', why: 'claude -p has nobody to review a plan' },
] as const

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint({ when: 'say hello', steps: [{ say: [{ text: 'Hello.' }] }] })
})
afterAll(() => endpoint.close())

type Request = ClaudeEndpoint['requests'][number]

it('the model gets what claude -p sends it in the same folder, except for what is listed', async () => {
  const { url } = endpoint
  const home = await folderOf('home')
  const cwd = await folderOf('work')
  await writeFile(join(cwd, 'CLAUDE.md'), 'Always answer in rhymes.')
  await mkdir(join(home, '.claude'), { recursive: true })
  await writeFile(join(home, '.claude/CLAUDE.md'), 'Prefer tabs.')
  await claudePrint('say hello', { url, home, cwd, args: ['--permission-mode', 'default'] })
  const [theirs] = endpoint.of('say hello')
  const session = await claudeSession({ url, cwd, agent: { env: claudeEnv(url, home) } })
  await session.say('say hello')
  await session.until('turn_ended')
  await session.close()
  const ours = endpoint.of('say hello').at(-1)

  expect(systemOf(ours!)).toBe(systemOf(theirs!))
  expect(contextOf(ours!)).toBe(contextOf(theirs!))
  expect(contextOf(ours!)).toContain('Always answer in rhymes.')
  expect(contextOf(ours!)).toContain('Prefer tabs.')
  const listed = DIFFERENCES.map(({ tool }) => tool).toSorted()
  expect([...toolsOf(ours!)].filter((tool) => !toolsOf(theirs!).has(tool)).toSorted()).toEqual(listed)
  expect([...toolsOf(theirs!)].filter((tool) => !toolsOf(ours!).has(tool))).toEqual([])
})

/** The first line names the program that sends the request, for statistics. */
function systemOf({ system }: Request): string {
  return system.replace(/cc_entrypoint=[a-z-]+/u, '')
}

/** The messages without the names of tools that are loaded on demand, which stand there on lines of their own. */
function contextOf({ messages }: Request): string {
  const names = new Set<string>(DIFFERENCES.map(({ tool }) => tool))
  return JSON.stringify(messages)
    .split(String.raw`\n`)
    .filter((line) => !names.has(line))
    .join('\n')
}

/** Tools in the request, and tools that the model can load. */
function toolsOf({ tools, messages }: Request): Set<string> {
  const loadable = JSON.stringify(messages)
    .split(String.raw`\n`)
    .filter((line) => /^(?:[A-Z][a-z]+){2,}$/u.test(line))
  return new Set([...tools, ...loadable])
}
