import { connect } from '@askback/client'
import { approve, person, pick } from '@askback/testing'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startClaudeEndpoint, type ClaudeEndpoint } from '../agents/src/claude-endpoint.js'
import { claudeEnv } from '../agents/src/claude-session.js'
import { newPage, pressUntil } from '../e2e/web/browser.js'
import { installAll, serveInstalled, type RunningCommand } from '../packed/packages.js'
import { freePort, installExample } from './installed-example.js'

/** Packing and installing takes a minute, and minutes on a busy machine. */
const INSTALL_MS = 600_000

describe('a program beside a gateway', () => {
  let gateway: RunningCommand
  let env: Record<string, string>
  beforeAll(async () => {
    const installed = await installAll()
    gateway = await serveInstalled(installed, mkdtempSync(join(installed, 'gateway-')))
    env = { ASKBACK_URL: gateway.url, ASKBACK_AGENT_TOKEN: gateway.agentToken }
  }, INSTALL_MS)
  afterAll(() => gateway.stop())

  function ada() {
    const askback = connect({ url: gateway.url, token: gateway.token })
    const self = person(askback, { name: 'Ada', patience: '1m' })
    onTestFinished(async () => {
      await self.leaves()
      askback.close()
    })
    return self
  }

  it('in Node.js gets an answer and an approval', async () => {
    const example = await installExample('node-script')
    const program = example.start('npm', ['start', '--silent'], env)
    await ada().answers('Where should 1.4.0 go first?', pick('Europe'))
    await program.prints(/Chosen: Europe/u)
    await ada().answers('deploy', approve)
    expect(await program.ended).toBe(0)
    expect(program.printed()).toContain('Deployed to Europe.')
  })

  it('in Python gets an answer over HTTP', async () => {
    const { error } = spawnSync('python3', ['--version'])
    expect(error, 'Python is missing: install python3.').toBeUndefined()
    const example = await installExample('python')
    const program = example.start('python3', ['ask.py'], env)
    await ada().answers('Which database?', pick('SQLite'))
    expect(await program.ended).toBe(0)
    expect(program.printed()).toBe('Chosen: SQLite\n')
  })
})

describe('Claude in a program of its own', () => {
  let endpoint: ClaudeEndpoint
  beforeAll(async () => {
    endpoint = await startClaudeEndpoint()
  })
  afterAll(() => endpoint.close())

  it('asks in the browser, and writes what was approved there', { timeout: INSTALL_MS }, async () => {
    const example = await installExample('claude-agent-sdk')
    const file = join(example.folder, 'haiku.txt')
    const question = {
      question: 'About what?',
      header: 'Topic',
      options: [
        { label: 'Rain', description: '' },
        { label: 'Snow', description: '' },
      ],
      multiSelect: false,
    }
    endpoint.add({
      when: 'write a haiku',
      steps: [
        { say: [{ tool: 'AskUserQuestion', input: { questions: [question] } }] },
        { expects: ['Snow'], say: [{ tool: 'Write', input: { file_path: file, content: 'Snow falls.' } }] },
        { say: [{ text: 'It is about snow.' }] },
      ],
    })
    const env = claudeEnv(endpoint.url, example.home)
    const program = example.start('node', ['main.mjs'], { ...env, PORT: String(await freePort()) })
    const address = (await program.prints(/http:\S+/u)).trim()

    const page = await newPage()
    await page.goto(address)
    // The address logs in, and then goes on to the app.
    await page.getByRole('link', { name: /^Inbox/u }).click()
    await page.getByRole('radio', { name: 'Snow' }).click()
    const approveOnce = page.getByRole('button', { name: 'Approve once' })
    await pressUntil(page.getByRole('button', { name: 'Submit' }), () => approveOnce.isVisible())
    await pressUntil(approveOnce, async () => existsSync(file))
    expect(readFileSync(file, 'utf8')).toBe('Snow falls.')
    expect(await program.ended).toBe(0)
    expect(program.printed()).toContain('It is about snow.')
    expect(endpoint.problems).toEqual([])
  })
})
