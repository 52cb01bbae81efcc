import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codexAgent, type CodexAgentOptions } from '@askback/agents/codex'
import type { AgentAdapter } from '@askback/core'
import type { PermissionMode } from '@askback/protocol'
import { expect } from 'vitest'
import { agentSession, type Before } from './agent-session.js'
import { folderOf } from './folders.js'
import type { Step } from './scenario.js'

/** The real program, as the lock of this folder names it. */
export const codex = join(import.meta.dirname, '../node_modules/.bin/codex')

export interface CodexSessionOptions {
  url: string
  mode?: PermissionMode
  before?: Before & { home: string; cwd: string }
  agent?: Partial<CodexAgentOptions>
  /** How it is run. */
  by?: (options: CodexAgentOptions) => AgentAdapter
  cwd?: string
  shells?: Record<string, string>
  /** More lines for its configuration. */
  config?: string
}

/** A gateway's inside with the real Codex in it, talking to a scripted model. */
export async function codexSession(options: CodexSessionOptions) {
  const { url, agent, config, by = codexAgent, ...rest } = options
  const home = rest.before?.home ?? (await codexHome(url, config))
  const cwd = rest.before?.cwd ?? rest.cwd ?? (await folderOf('work'))
  const adapter = by({ env: codexEnv(home), executable: codex, ...agent })
  return { ...(await agentSession({ ...rest, adapter, cwd })), home, cwd }
}

/** Runs a command, and waits for it as long as Codex can before it tells its model that it still runs. */
export const run = (cmd: string) => ({ tool: 'exec_command', input: { cmd, yield_time_ms: 30_000 } })

/** A command that never ends, and a model that has nothing to say about that. */
export const runForever = (more = ''): Step[] => [
  { say: [run(`touch started; tail -f /dev/null${more}`)] },
  { say: [], ends: 'never' },
]

/** A program of the test's own, which may become Codex. */
export async function inPlaceOfCodex(script: string): Promise<string> {
  const path = join(await folderOf('bin'), 'codex')
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return path
}

/** A home for Codex whose model is the scripted one. It tries nothing twice, so that an error comes at once. */
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

/** Of one that names a program which is not there. */
export async function expectMissingToBeSaid(adapter: AgentAdapter): Promise<void> {
  const missing = 'Codex isn’t installed. Run `npm install -g @openai/codex`.'
  expect(await adapter.check()).toEqual({ available: false, reason: missing })
  const available = { ...adapter, check: () => Promise.resolve({ available: true } as const) }
  const session = await agentSession({ adapter: available, cwd: await folderOf('work') })
  await session.say('say hello')
  await session.until('turn_ended')
  expect((await session.of('error'))[0]!.message).toBe(missing)
  await session.close()
}
