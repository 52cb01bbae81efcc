import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { eventually } from './eventually.js'
import { folderOf } from './folders.js'
import { claudeEnv, claudeSession } from './claude-session.js'

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint()
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

const command = 'touch made'
const traceFiles = ['hook', 'helper', 'server']

/** A home and a folder with instructions, with rules that allow the call, and with programs that create a file when they run. */
async function homeAndFolder() {
  const home = await folderOf('home')
  const cwd = await folderOf('work')
  const trace = (name: string) => `touch ${join(cwd, name)}`
  const settings = {
    permissions: { allow: ['Bash', `Bash(${command})`], defaultMode: 'bypassPermissions' },
    hooks: { PreToolUse: [{ matcher: '*', hooks: [{ type: 'command', command: trace('hook') }] }] },
  }
  const helper = `${trace('helper')}; echo key`
  await mkdir(join(home, '.claude'))
  await mkdir(join(cwd, '.claude'))
  await writeFile(join(home, '.claude/CLAUDE.md'), 'Words of the user.')
  await writeFile(join(home, '.claude/settings.json'), JSON.stringify(settings))
  await writeFile(join(cwd, 'CLAUDE.md'), 'Words of the folder.')
  await writeFile(join(cwd, '.claude/settings.json'), JSON.stringify({ ...settings, apiKeyHelper: helper }))
  const server = { command: '/bin/sh', args: ['-c', trace('server')] }
  await writeFile(join(cwd, '.mcp.json'), JSON.stringify({ mcpServers: { server } }))
  return { home, cwd }
}

describe.concurrent('the settings of Claude Code', () => {
  it.each<[string, ('user' | 'project' | 'local')[] | undefined, string[]]>([
    ['by default', undefined, []],
    ['with those of the folder', ['user', 'project', 'local'], ['helper', 'server']],
  ])('%s neither allow calls nor run hooks, and CLAUDE.md is read', async (name, settingSources, left) => {
    const when = `settings ${name}`
    endpoint.add({
      when,
      steps: [
        { say: [{ tool: 'Bash', input: { command, description: 'Makes' } }] },
        { say: [{ text: 'Ok.' }] },
      ],
    })
    const { home, cwd } = await homeAndFolder()
    const session = await claudeSession({
      url: endpoint.url,
      cwd,
      agent: { env: claudeEnv(endpoint.url, home), ...(settingSources && { settingSources }) },
    })
    await session.say(when)
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'approval', request: { input: { command } } })
    await session.answer(item!, { decision: 'deny' })
    await session.until('turn_ended')
    const [request] = endpoint.of(when)
    const known = request!.system + JSON.stringify(request!.messages)
    expect(known).toContain('Words of the user.')
    expect(known).toContain('Words of the folder.')
    const traced = () => traceFiles.filter((trace) => existsSync(join(cwd, trace)))
    await eventually(() => expect(traced()).toEqual(left))
    await session.close()
    expect(traced()).toEqual(left)
  })

  it('cannot be edited by the agent without an approval, even in the mode acceptEdits', async () => {
    const when = 'write settings'
    const { home, cwd } = await homeAndFolder()
    const file_path = join(cwd, '.claude/settings.json')
    const before = await readFile(file_path, 'utf8')
    endpoint.add({
      when,
      steps: [
        { say: [{ tool: 'Read', input: { file_path } }] },
        { say: [{ tool: 'Write', input: { file_path, content: '{}' } }] },
        { expects: ['denied'], say: [{ text: 'Ok.' }] },
      ],
    })
    const session = await claudeSession({
      url: endpoint.url,
      cwd,
      mode: 'acceptEdits',
      agent: { env: claudeEnv(endpoint.url, home) },
    })
    await session.say(when)
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'approval', toolName: 'Write' })
    await session.answer(item!, { decision: 'deny' })
    await session.until('turn_ended')
    expect(await readFile(file_path, 'utf8')).toBe(before)
    await session.close()
  })
})

it('the model gets the system prompt of Claude Code, also in a resumed conversation', async () => {
  const when = 'who are you'
  endpoint.add({ when, steps: [{ say: [{ text: 'Claude Code.' }] }] })
  const session = await claudeSession({ url: endpoint.url })
  await session.say(when)
  await session.until('turn_ended')
  await session.close()
  const again = await claudeSession({ url: endpoint.url, before: session })
  await again.say(when)
  await again.until('turn_ended', 2)
  await again.close()
  const systems = endpoint.of(when).map(({ system }) => system)
  expect(systems).toHaveLength(2)
  for (const system of systems) {
    expect(system.length).toBeGreaterThan(4000)
    expect(system).toContain('permission mode')
  }
})

it('Claude Code asks before it edits its memory', async () => {
  const when = 'remember this'
  const { home, cwd } = await homeAndFolder()
  // Where Claude Code stores its memory of a folder, and writes without asking if memory is on.
  const file_path = join(home, '.claude/projects', cwd.replaceAll(/[^a-zA-Z0-9]/g, '-'), 'memory/fact.md')
  endpoint.add({
    when,
    steps: [
      { say: [{ tool: 'Write', input: { file_path, content: 'A fact.' } }] },
      { say: [{ text: 'Ok.' }] },
    ],
  })
  const session = await claudeSession({
    url: endpoint.url,
    cwd,
    agent: { env: claudeEnv(endpoint.url, home) },
  })
  await session.say(when)
  const [item] = await session.pending()
  expect(item!.request).toMatchObject({ input: { file_path } })
  await session.answer(item!, { decision: 'deny' })
  await session.until('turn_ended')
  expect(existsSync(file_path)).toBe(false)
  await session.close()
})
