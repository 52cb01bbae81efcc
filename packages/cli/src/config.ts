import { gatewayConfig, type GatewayConfig } from '@askback/gateway'
import { AskbackError } from '@askback/protocol'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseTimeout } from './duration.js'

interface Overrides {
  /** Instead of `config.json` in the data folder; it must be there. */
  file?: string
  /** The Claude Code to run. */
  claude?: string | undefined
}

/** The settings file, checked, and what goes before it. */
export function readConfig(dataFolder: string, { file, claude }: Overrides): GatewayConfig {
  const config = readSettings(dataFolder, file)
  if (claude !== undefined && claude !== '') config.agents.claude.executable = claude
  return config
}

function readSettings(dataFolder: string, named: string | undefined): GatewayConfig {
  const path = resolve(named ?? join(dataFolder, 'config.json'))
  let settings: unknown
  try {
    settings = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (!missing || named !== undefined) {
      const why = error instanceof Error ? error.message : String(error)
      throw new AskbackError('invalid_request', `The settings ${path} cannot be read: ${why}.`)
    }
    settings = {}
  }
  const parsed = gatewayConfig.safeParse(settings)
  if (parsed.success) {
    const { timeout } = parsed.data
    if (timeout !== undefined) parseTimeout(timeout, `timeout in ${path}`)
    return parsed.data
  }
  const [issue] = parsed.error.issues
  const where = issue?.path.length ? ` at ${issue.path.join('.')}` : ''
  throw new AskbackError('invalid_request', `The settings ${path} do not fit${where}: ${issue?.message}.`)
}
