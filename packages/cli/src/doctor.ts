import { existsSync, statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { agentAdapters } from './agents.js'
import { readConfig } from './config.js'
import { defaultDataFolder } from './data-folder.js'
import { findGateway } from './running-gateway.js'
import { version } from './version.js'

interface Check {
  name: string
  /** `null`: missing, and nothing needs it. */
  ok: boolean | null
  says: string
}

const FLAGS = {
  data: { type: 'string' },
  claude: { type: 'string' },
  json: { type: 'boolean' },
} as const

/** `askback doctor`: what is here, what is missing, and what to do about it. Ends with 1 if Askback itself cannot run. */
export async function doctor(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: FLAGS })
  const folder = values.data ?? defaultDataFolder()
  const checks = [
    nodeCheck(),
    folderCheck(folder),
    await gatewayCheck(folder),
    ...(await agentChecks(folder, values.claude)),
  ]
  process.stdout.write(values.json ? `${JSON.stringify({ version: version(), checks })}\n` : table(checks))
  return checks.some(({ ok }) => ok === false) ? 1 : 0
}

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const ok = major > 20 || (major === 20 && minor >= 19)
  const says = ok ? process.versions.node : `${process.versions.node} is too old: install 20.19 or newer`
  return { name: 'node', ok, says }
}

function folderCheck(folder: string): Check {
  const name = 'data folder'
  if (!existsSync(folder)) return { name, ok: true, says: `${folder} (made at the first start)` }
  const isOpen = process.platform !== 'win32' && (statSync(folder).mode & 0o077) !== 0
  if (isOpen) return { name, ok: false, says: `${folder} can be read by others: run chmod 700 on it` }
  return { name, ok: true, says: folder }
}

async function gatewayCheck(folder: string): Promise<Check> {
  const name = 'gateway'
  const running = findGateway(folder)
  if (!running) return { name, ok: null, says: 'does not run: start it with askback serve' }
  const answer = await fetch(`${running.url}/readyz`).catch(() => null)
  if (answer?.ok) return { name, ok: true, says: `${running.url} (process ${running.pid})` }
  return { name, ok: null, says: `${running.url} does not answer: start it again with askback serve` }
}

async function agentChecks(folder: string, named: string | undefined): Promise<Check[]> {
  let config
  try {
    config = readConfig(folder, { claude: named ?? process.env['ASKBACK_CLAUDE'] })
  } catch (error) {
    return [{ name: 'settings', ok: false, says: error instanceof Error ? error.message : String(error) }]
  }
  return Promise.all(
    agentAdapters(config.agents).map(async (adapter) => {
      const found = await adapter.check()
      const uses = found.available && found.uses !== undefined ? `, with ${found.uses}` : ''
      const says = found.available ? `ready${uses}` : found.reason
      return { name: adapter.name, ok: found.available || null, says }
    }),
  )
}

function table(checks: Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length))
  const mark = (ok: boolean | null) => (ok === null ? '–' : ok ? '✓' : '✗')
  return checks.map(({ name, ok, says }) => `${mark(ok)} ${name.padEnd(width)}  ${says}\n`).join('')
}
