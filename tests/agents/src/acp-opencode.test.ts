import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { acpSession, type AcpSessionOptions } from './acp-session.js'
import { me } from './agent-session.js'
import { startChatEndpoint, type ChatEndpoint } from './chat-endpoint.js'
import { folderOf } from './folders.js'
import { opencode } from './programs.js'

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
  const cwd = options.before?.cwd ?? (await folderOf('work'))
  const models = { scripted: { name: 'Scripted' }, other: { name: 'Other' } }
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    name: 'Local',
    options: { baseURL: `${endpoint.url}/v1`, apiKey: 'none' },
    models,
  }
  const permission = { bash: 'ask', edit: 'ask' }
  const config = {
    model: 'local/scripted',
    small_model: 'local/scripted',
    provider: { local: provider },
    permission,
  }
  await writeFile(join(cwd, 'opencode.json'), JSON.stringify(config))
  return acpSession({
    cwd,
    command: [opencode, 'acp'],
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

it('streams its texts, uses the chosen model, and knows its conversation after a restart', async () => {
  endpoint.add({ when: 'and again', steps: [{ say: [{ text: 'Hello again.' }] }] })
  const session = await startSession({ agent: { model: 'local/other' } })
  await session.say('say hello')
  await session.until('turn_ended')
  expect((await session.of('text')).map(({ text }) => text)).toEqual(['Hello.'])
  expect(endpoint.of('say hello').map(({ model }) => model)).toContain('other')
  await session.close()
  const later = await startSession({ before: session })
  await later.say('and again')
  await later.until('turn_ended', 2)
  expect(JSON.stringify(endpoint.of('and again'))).toContain('Hello.')
  await later.close()
})

it('names the models that it has if the chosen one does not exist', async () => {
  const session = await startSession({ agent: { model: 'local/missing', name: 'OpenCode' } })
  await session.say('say hello')
  await session.until('turn_ended')
  const [error] = (await session.of('error')).filter(({ fatal }) => fatal)
  expect(error?.message).toMatch(/^OpenCode has no model “local\/missing”: it has .*local\/scripted/u)
  await session.close()
})

it('is interrupted while its request is pending', async () => {
  const input = { command: 'touch never', description: 'Touches' }
  endpoint.add({ when: 'touch and wait', steps: [{ say: [{ tool: 'bash', input }] }] })
  const session = await startSession()
  await session.say('touch and wait')
  await session.pending()
  await session.host.as(me).interrupt(session.sessionId)
  expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'interrupted' })
  expect(existsSync(join(session.cwd, 'never'))).toBe(false)
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
