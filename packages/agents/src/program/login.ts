/**
 * Whether an agent's program has a login, as far as files and variables show it without starting the program. A login is never read: only
 * whether it is there. Where it may be kept out of sight (a system's keychain), nothing is said.
 */
import { access, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Environment } from './launch.js'

const CLAUDE_VARIABLES = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
]

const CODEX_VARIABLES = ['OPENAI_API_KEY', 'CODEX_API_KEY']

/** What is missing, with the command to run; `null` if Claude has a login, or may have one. */
export async function missingClaudeLogin(env: Environment): Promise<string | null> {
  if (CLAUDE_VARIABLES.some((name) => env[name])) return null
  // On macOS the login is in the keychain.
  if (process.platform === 'darwin') return null
  const folder = claudeConfigFolder(env)
  if (await exists(join(folder, '.credentials.json'))) return null
  if ((await readText(join(folder, 'settings.json'))).includes('"apiKeyHelper"')) return null
  return 'Claude has no login here. Run `claude` and log in, or set ANTHROPIC_API_KEY where Askback starts.'
}

/** What is missing, with the command to run; `null` if Codex has a login, or a model that needs none. */
export async function missingCodexLogin(env: Environment): Promise<string | null> {
  if (CODEX_VARIABLES.some((name) => env[name])) return null
  const folder = codexConfigFolder(env)
  if (await exists(join(folder, 'auth.json'))) return null
  // Another provider of models has a key of its own; and the login may be kept in the keychain.
  const config = await readText(join(folder, 'config.toml'))
  if (/^\s*(?:model_provider|cli_auth_credentials_store)\s*=/mu.test(config)) return null
  return 'Codex has no login here. Run `codex login`, or set OPENAI_API_KEY where Askback starts.'
}

/** The folder with the settings and the record of Claude Code. */
export function claudeConfigFolder({ CLAUDE_CONFIG_DIR: folder, HOME: home }: Environment): string {
  return folder ?? join(home ?? homedir(), '.claude')
}

export function codexConfigFolder({ CODEX_HOME: folder, HOME: home }: Environment): string {
  return folder ?? join(home ?? homedir(), '.codex')
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
