import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { acpSession, type AcpSessionOptions } from './acp-session.js'
import { me } from './agent-session.js'
import { startChatEndpoint, type ChatEndpoint } from './chat-endpoint.js'
import { folderOf } from './folders.js'

let endpoint: ChatEndpoint
beforeAll(async () => {
  endpoint = await startChatEndpoint(
    { when: 'say hello', steps: [{ say: [{ text: 'Hello.' }] }] },
    { when: 'Generate a title for this conversation', steps: [{ say: [{ text: 'A title' }] }] },
  )
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

/** A session with the real OpenCode, whose model is scripted. */
async function startSession(options: AcpSessionOptions = {}) {
  const cwd = await folderOf('work')
  const models = { scripted: { name: 'Scripted' }, other: { name: 'Other' } }
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    name: 'Local',
    options: { baseURL: `${endpoint.url}/v1`, apiKey: 'none' },
    models,
  }
  const permission = { bash: 'ask', edit: 'ask' }
  const config = { model: 'local/scripted', small_model: 'local/scripted', provider: { local: provider }, permission }
  await writeFile(join(cwd, 'opencode.json'), JSON.stringify(config))
  return acpSession({
    cwd,
    command: [join(import.meta.dirname, '../node_modules/.bin/opencode'), 'acp'],
    env: (home) => ({
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: home,
      OPENCODE_DISABLE_AUTOUPDATE: 'true',
      OPENCODE_DISABLE_LSP_DOWNLOAD: 'true',
      OPENCODE_DISABLE_MODELS_FETCH: 'true',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: 'true',
    }),
    ...options,
  })
}

it('streams its texts', async () => {
  const session = await startSession()
  await session.say('say hello')
  await session.until('turn_ended')
  expect((await session.of('text')).map(({ text }) => text)).toEqual(['Hello.'])
  await session.close()
})

it('asks for permission with the whole command, and runs only what is approved', async () => {
  for (const decision of ['approve', 'deny']) {
    const when = `touch something, ${decision}`
    const input = { command: `touch ${decision}d`, description: 'Touches' }
    endpoint.add({ when, steps: [{ say: [{ tool: 'bash', input }] }, { say: [{ text: 'Done.' }] }] })
    const session = await startSession()
    await session.say(when)
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'approval', request: { input: { command: `touch ${decision}d` } } })
    await session.answer(item!, { decision })
    await session.until('turn_ended')
    expect(existsSync(join(session.cwd, `${decision}d`))).toBe(decision === 'approve')
    await session.close()
  }
})
