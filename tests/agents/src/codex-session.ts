import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codexAgent, type CodexAgentOptions } from '@askback/agents/codex'
import type { AgentAdapter } from '@askback/core'
import type { PermissionMode } from '@askback/protocol'
import { expect } from 'vitest'
import { agentSession, type EarlierSession } from './agent-session.js'
import { folderOf } from './folders.js'
import type { Step } from './scenario.js'

/** The real program, in the version of this folder's lock file. */
export const codex = join(import.meta.dirname, '../node_modules/.bin/codex')

export interface CodexSessionOptions {
  url: string
  mode?: PermissionMode
  before?: EarlierSession & { home: string; cwd: string }
  agent?: Partial<CodexAgentOptions>
  /** The adapter: `codexAgent` by default. */
  by?: (options: CodexAgentOptions) => AgentAdapter
  cwd?: string
  shells?: Record<string, string>
  /** More lines for its configuration. */
  config?: string
}

/** A session with the real Codex, whose model is scripted. */
export async function codexSession(options: CodexSessionOptions) {
  const { url, agent, config, by = codexAgent, ...rest } = options
  const home = rest.before?.home ?? (await codexHome(url, config))
  const cwd = rest.before?.cwd ?? rest.cwd ?? (await folderOf('work'))
  const adapter = by({ env: codexEnv(home), executable: codex, ...agent })
  return { ...(await agentSession({ ...rest, adapter, cwd })), home, cwd }
}

/** Runs a command, and lets Codex wait for it as long as it can before it hands the running command to its model. */
export const run = (cmd: string) => ({ tool: 'exec_command', input: { cmd, yield_time_ms: 30_000 } })

/** A command that never ends, after which the model says nothing. */
export const runForever = (more = ''): Step[] => [
  { say: [run(`touch started; tail -f /dev/null${more}`)] },
  { say: [], ends: 'never' },
]

/** A shell script to run in place of Codex. */
export async function fakeCodex(script: string): Promise<string> {
  const path = join(await folderOf('bin'), 'codex')
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return path
}

/** A home for Codex with the scripted model. Retries are off, so that an error comes at once. */
export async function codexHome(url: string, config = ''): Promise<string> {
  const home = await folderOf('home')
  await mkdir(join(home, '.codex'))
  await writeFile(
    join(home, '.codex/config.toml'),
    `model = "gpt-5.5"
model_provider = "scripted"
suppress_unstable_features_warning = true
${config}
[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
`,
  )
  return home
}

export function codexEnv(home: string): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: home,
    CODEX_HOME: join(home, '.codex'),
    SCRIPTED_KEY: 'dummy',
  }
}

/** The adapter must name a program that does not exist. */
export async function expectMissingReported(adapter: AgentAdapter): Promise<void> {
  const missing = 'Codex isn’t installed. Run `npm install -g @openai/codex`.'
  expect(await adapter.check()).toEqual({ available: false, reason: missing })
  const available = { ...adapter, check: () => Promise.resolve({ available: true } as const) }
  const session = await agentSession({ adapter: available, cwd: await folderOf('work') })
  await session.say('say hello')
  await session.until('turn_ended')
  expect((await session.of('error'))[0]!.message).toBe(missing)
  await session.close()
}
