import { acpAgent } from '@askback/agents/acp'
import { claudeAgent } from '@askback/agents/claude'
import { codexAgent, codexExecAgent } from '@askback/agents/codex'
import { demoAgent } from '@askback/agents/demo'
import type { AgentAdapter, InteractionKind } from '@askback/core'
import { gatewayConfig, type GatewayConfig } from '@askback/gateway'
import { AskbackError, objectOf } from '@askback/protocol'
import { dirname, join, resolve } from 'node:path'
import * as z from 'zod'
import { parseTimeout } from './arguments.js'
import { findConfigFile, loadConfigFile } from './config-file.js'
import { kindsOfConfig } from './config-kinds.js'

/** Everything a settings file may contain: the settings of the gateway, and the operator's own kinds. */
const commandConfig = gatewayConfig.extend({
  kinds: z.array(z.unknown()).default([]),
  renderers: z.record(z.string(), z.string().min(1)).default({}),
})

/** The settings, checked and with their defaults. */
export interface CommandConfig {
  /** The file they come from; `null` if there is none. */
  file: string | null
  gateway: GatewayConfig
  kinds: InteractionKind[]
  /** The ES modules that draw kinds in the web app: their absolute paths by kind. */
  renderers: Record<string, string>
}

interface ConfigOverrides {
  /** The settings file, which must exist. @default `askback.config.*` or `config.json` in the data folder, if there is one */
  file?: string
  /** The path of the Claude Code to run. */
  claude?: string | undefined
}

/** Reads and checks the settings file, and applies what overrides it. */
export async function readConfig(
  dataFolder: string,
  { file: named, claude }: ConfigOverrides,
): Promise<CommandConfig> {
  const file = findConfigFile(dataFolder, named)
  const config = checkConfig(file === null ? {} : await loadConfigFile(file), file)
  if (claude !== undefined && claude !== '') config.gateway.agents.claude.executable = claude
  return config
}

function checkConfig(settings: unknown, file: string | null): CommandConfig {
  const refuse = (why: string) => new AskbackError('invalid_request', `The settings ${file} ${why}`)
  const parsed = commandConfig.safeParse(settings)
  if (!parsed.success) throw refuse(reasonOf(parsed.error.issues))
  const { kinds: given, renderers, ...gateway } = parsed.data
  if (gateway.timeout !== undefined) parseTimeout(gateway.timeout, `timeout in ${file}`)
  const kinds = kindsOfConfig(given, refuse)
  const folder = file === null ? '' : dirname(file)
  const paths = Object.entries(renderers).map(([kind, path]) => {
    if (!kinds.some((each) => each.kind === kind))
      throw refuse(`have a renderer for the kind ${JSON.stringify(kind)}, which is not one of their kinds.`)
    return [kind, resolve(folder, path)] as const
  })
  for (const [tool, kind] of Object.entries(gateway.agents.claude.tools ?? {}))
    if (!kinds.some((each) => each.kind === nameOf(kind)))
      throw refuse(
        `map the tool ${tool} to the kind ${JSON.stringify(nameOf(kind))}, which is not one of their kinds.`,
      )
  return { file, gateway, kinds, renderers: Object.fromEntries(paths) }
}

function nameOf(kind: string | { kind: string }): string {
  return typeof kind === 'string' ? kind : kind.kind
}

/** A misspelled key comes first, because it is also why another one is missing. */
function reasonOf(issues: readonly z.core.$ZodIssue[]): string {
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  const path = issue?.path.join('.') ?? ''
  if (issue?.code !== 'unrecognized_keys')
    return `do not fit${path === '' ? '' : ` at ${path}`}: ${issue?.message}.`
  if (issue.keys.includes('tools') && /^agents\.(?:codex|acp)/.test(path))
    return `map tools for ${path}, which cannot get a changed input from a person. Only Claude can: agents.claude.tools. Other agents ask with the tools of askback mcp.`
  const place = path === '' ? '' : ` in ${path}`
  return `have a key that does not exist${place}: ${issue.keys.join(', ')}. ${knownKeys(issue.path)}`
}

/** The keys that exist at a place of the settings. */
function knownKeys(path: readonly PropertyKey[]): string {
  const schema = z.toJSONSchema(commandConfig, { io: 'input' })
  const node = path.reduce<unknown>(
    (at, key) =>
      objectOf(
        typeof key === 'number' ? objectOf(at)['items'] : objectOf(objectOf(at)['properties'])[String(key)],
      ),
    schema,
  )
  const keys = Object.keys(objectOf(objectOf(node)['properties']))
  return `There ${keys.length === 1 ? 'is' : 'are'}: ${keys.join(', ')}.`
}

/**
 * All agents that the gateway can run. The demo comes first: a session that names no agent gets it, and it needs no other program.
 * With a data folder, a Codex that still runs after a restart of the gateway is used again.
 */
export function agentAdapters(
  { claude, codex, acp }: GatewayConfig['agents'],
  kinds: readonly InteractionKind[],
  dataFolder?: string,
): AgentAdapter[] {
  const { env } = process
  const { executable, settingSources, tools = {} } = claude
  const claudeOptions = {
    env,
    ...(executable !== undefined && { executable }),
    ...(settingSources && { settingSources }),
    tools: Object.fromEntries(
      Object.entries(tools).flatMap(([tool, kind]) => {
        const found = kinds.find((each) => each.kind === nameOf(kind))
        return found ? [[tool, found]] : []
      }),
    ),
  }
  const codexOptions = {
    env,
    networkAccess: codex.networkAccess,
    ...(codex.executable !== undefined && { executable: codex.executable }),
  }
  return [
    demoAgent(),
    claudeAgent(claudeOptions),
    codexAgent({
      ...codexOptions,
      ...(dataFolder !== undefined && { detachedFolder: join(dataFolder, 'running') }),
    }),
    codexExecAgent(codexOptions),
    ...acp.map(({ name, mode, model, env: own, ...agent }) =>
      acpAgent({
        ...agent,
        name: name ?? agent.id,
        env: { ...env, ...own },
        ...(mode !== undefined && { mode }),
        ...(model !== undefined && { model }),
      }),
    ),
  ]
}
