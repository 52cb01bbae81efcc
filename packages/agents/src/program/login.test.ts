import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { missingClaudeLogin, missingCodexLogin } from './login.js'

let home = ''
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'askback-login-'))
  onTestFinished(() => rm(home, { recursive: true }))
})

async function write(path: string, content: string): Promise<void> {
  await mkdir(join(home, path, '..'), { recursive: true })
  await writeFile(join(home, path), content)
}

describe('Claude', () => {
  it('lacks a login in an empty home, and the sentence says what to run', async () => {
    expect(await missingClaudeLogin({ HOME: home })).toContain('Run `claude` and log in')
  })

  it.each(['ANTHROPIC_API_KEY', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK'])(
    'has one with %s',
    async (name) => {
      expect(await missingClaudeLogin({ HOME: home, [name]: '1' })).toBeNull()
      expect(await missingClaudeLogin({ HOME: home, [name]: '' })).not.toBeNull()
    },
  )

  it('has one with credentials or a program that prints keys, also in another folder', async () => {
    await write('.claude/.credentials.json', '{}')
    expect(await missingClaudeLogin({ HOME: home })).toBeNull()
    await write('other/settings.json', '{ "apiKeyHelper": "/bin/key" }')
    expect(await missingClaudeLogin({ HOME: '/nowhere', CLAUDE_CONFIG_DIR: join(home, 'other') })).toBeNull()
  })
})

describe('Codex', () => {
  it('lacks a login in an empty home, and the sentence says what to run', async () => {
    expect(await missingCodexLogin({ HOME: home })).toContain('Run `codex login`')
  })

  it('has one with a key, a login, or a provider of its own', async () => {
    expect(await missingCodexLogin({ HOME: home, OPENAI_API_KEY: 'x' })).toBeNull()
    await write('.codex/config.toml', 'model = "m"\nmodel_provider = "local"\n')
    expect(await missingCodexLogin({ HOME: home })).toBeNull()
    await write('other/auth.json', '{}')
    expect(await missingCodexLogin({ CODEX_HOME: join(home, 'other') })).toBeNull()
  })
})
