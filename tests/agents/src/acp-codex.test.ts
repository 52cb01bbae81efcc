import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { acpSession } from './acp-session.js'
import { startCodexEndpoint, type CodexEndpoint } from './codex-endpoint.js'
import { codexEnv, codexHome } from './codex-session.js'

let endpoint: CodexEndpoint
beforeAll(async () => {
  endpoint = await startCodexEndpoint({ when: 'say hello', steps: [{ say: [{ text: 'Hello.' }] }] })
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

/** A session with the real codex-acp, whose model is scripted. */
async function startSession({ hasModel = true } = {}) {
  const home = await codexHome(endpoint.url)
  if (!hasModel) await writeFile(join(home, '.codex/config.toml'), '')
  const command = [join(import.meta.dirname, '../node_modules/.bin/codex-acp')]
  return acpSession({ command, env: () => codexEnv(home), agent: { name: 'Codex' } })
}

it('streams its texts', async () => {
  const session = await startSession()
  await session.say('say hello')
  await session.until('turn_ended')
  expect((await session.of('text')).map(({ text }) => text)).toEqual(['Hello.'])
  expect(await session.of('error')).toEqual([])
  await session.close()
})

it('starts in the mode that asks a person, and runs only what is approved', async () => {
  for (const decision of ['approve', 'deny']) {
    const when = `touch something, ${decision}`
    const command = `touch ${decision}d`
    const input = { cmd: command, sandbox_permissions: 'require_escalated', justification: 'Needed' }
    endpoint.add({ when, steps: [{ say: [{ tool: 'exec_command', input }] }, { say: [{ text: 'Done.' }] }] })
    const session = await startSession()
    await session.say(when)
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'approval', request: { input: { command } } })
    await session.answer(item!, { decision })
    await session.until('turn_ended')
    expect(existsSync(join(session.cwd, `${decision}d`))).toBe(decision === 'approve')
    await session.close()
  }
})

it('says what to do if it is not logged in', async () => {
  const session = await startSession({ hasModel: false })
  await session.say('say hello')
  await session.until('turn_ended')
  const [error] = await session.of('error')
  expect(error?.message).toContain('Codex is not logged in. Run it in a terminal and log in there')
  expect(error?.message).toContain('ChatGPT')
  await session.close()
})
