import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { file } from '../../e2e/http/command.js'
import type { RunningGateway } from '../../e2e/http/gateways.js'
import { claudePrint } from './claude-code-cli.js'
import { startChatEndpoint } from './chat-endpoint.js'
import { startClaudeEndpoint } from './claude-endpoint.js'
import { startCodexEndpoint } from './codex-endpoint.js'
import { codex, codexEnv, codexHome } from './codex-session.js'
import type { Endpoint } from './endpoint.js'
import { folderOf } from './folders.js'
import { opencode } from './programs.js'

/** A program that runs an agent, with Askback as an MCP server on its stdin and stdout. */
export interface McpHost {
  name: string
  /** Whether it speaks 2026-07-28 and repeats a pending call by itself. Its model then does not notice that anybody waits. */
  repeatsCalls: boolean
  /** The name under which its model knows a tool of the server. */
  toolName(tool: string): string
  startEndpoint(): Promise<Endpoint>
  /** Runs the agent with one message to its end, and returns what it said. */
  run(prompt: string, options: McpHostRun): Promise<string>
}

interface McpHostRun {
  gateway: RunningGateway
  /** The URL of the scripted model. */
  url: string
  /** More arguments of `askback mcp`. */
  args: string[]
  /** After which time the host gives up a call, in seconds. Not for Claude Code, whose limit is for all repetitions together. */
  giveUpSeconds: number
}

function serverArgs({ gateway, args }: McpHostRun): string[] {
  return [file, 'mcp', '--data', gateway.data, ...args]
}

const claudeCode: McpHost = {
  name: 'Claude Code',
  repeatsCalls: true,
  toolName: (tool) => `mcp__askback__${tool}`,
  startEndpoint: () => startClaudeEndpoint(),
  async run(prompt, options) {
    const home = await folderOf('home')
    const config = join(home, 'mcp.json')
    const askback = { command: process.execPath, args: serverArgs(options) }
    await writeFile(config, JSON.stringify({ mcpServers: { askback } }))
    return claudePrint(prompt, {
      url: options.url,
      home,
      cwd: await folderOf('work'),
      args: ['--mcp-config', config, '--strict-mcp-config', '--allowedTools', 'mcp__askback'],
    })
  },
}

const codexExec: McpHost = {
  name: 'Codex',
  repeatsCalls: false,
  toolName: (tool) => `mcp__askback__${tool}`,
  startEndpoint: () => startCodexEndpoint(),
  async run(prompt, options) {
    const { giveUpSeconds } = options
    const home = await codexHome(
      options.url,
      `[mcp_servers.askback]
command = ${JSON.stringify(process.execPath)}
args = ${JSON.stringify(serverArgs(options))}
required = true
tool_timeout_sec = ${giveUpSeconds}
`,
    )
    return outputOf(codex, ['exec', '--skip-git-repo-check', prompt], await folderOf('work'), codexEnv(home))
  },
}

const openCode: McpHost = {
  name: 'OpenCode',
  repeatsCalls: false,
  toolName: (tool) => `askback_${tool}`,
  startEndpoint: () =>
    startChatEndpoint({
      when: 'Generate a title for this conversation',
      steps: [{ say: [{ text: 'A title' }] }],
    }),
  async run(prompt, options) {
    const cwd = await folderOf('work')
    const { giveUpSeconds } = options
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      name: 'Local',
      options: { baseURL: `${options.url}/v1`, apiKey: 'none' },
      models: { scripted: { name: 'Scripted' } },
    }
    const config = {
      model: 'local/scripted',
      small_model: 'local/scripted',
      provider: { local: provider },
      mcp: { askback: { type: 'local', command: [process.execPath, ...serverArgs(options)] } },
      experimental: { mcp_timeout: giveUpSeconds * 1000 },
    }
    await writeFile(join(cwd, 'opencode.json'), JSON.stringify(config))
    return outputOf(opencode, ['run', prompt], cwd, {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: await folderOf('home'),
      OPENCODE_DISABLE_AUTOUPDATE: 'true',
      OPENCODE_DISABLE_LSP_DOWNLOAD: 'true',
      OPENCODE_DISABLE_MODELS_FETCH: 'true',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: 'true',
    })
  },
}

export const mcpHosts = [claudeCode, codexExec, openCode]

async function outputOf(
  program: string,
  args: string[],
  cwd: string,
  env: Record<string, string>,
): Promise<string> {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = new Promise((resolve) => child.once('close', resolve))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (data: string) => (output += data))
  child.stderr.resume()
  await closed
  return output.trim()
}
