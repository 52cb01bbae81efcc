import { spellOutLine } from '@askback/protocol/hidden-characters'
import { parseArgs } from 'node:util'
import { errorMessage } from '@askback/protocol/errors'
import { agentAdapters, readConfig } from './config.js'
import { defaultDataFolder } from './data-folder.js'
import {
  broken,
  fine,
  hooksCheck,
  missing,
  nodeCheck,
  variablesCheck,
  webAppCheck,
  type DoctorCheck,
} from './doctor/check.js'
import { acceptLossCheck, contentsChecks, databaseCheck, folderCheck } from './doctor/database.js'
import { gatewayCheck } from './doctor/gateway.js'
import { ADDRESS_FLAGS } from './reach/connection.js'
import { connectorSecrets } from './serve/connectors.js'
import { version } from './serve/package-files.js'
import { printJson } from './terminal.js'

export const DOCTOR_FLAGS = {
  ...ADDRESS_FLAGS,
  claude: { type: 'string' },
  deep: { type: 'boolean' },
  'accept-loss': { type: 'boolean' },
  json: { type: 'boolean' },
} as const

/** `askback doctor`: checks the installation, and says what to do. Exits with 1 if something is broken. */
export async function doctor(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: DOCTOR_FLAGS })
  const { env } = process
  const folder = values.data ?? defaultDataFolder()
  // First, so that the check of the database sees the result.
  const loss = values['accept-loss'] ? [await acceptLossCheck(folder)] : []
  const gateway = await gatewayCheck(folder, values, { env, version: version() })
  const database = databaseCheck(folder, gateway.pid)
  const checks = [
    nodeCheck(),
    folderCheck(folder),
    ...(database ? [database] : []),
    ...loss,
    ...(values.deep ? await contentsChecks(folder) : []),
    gateway.check,
    ...(gateway.clock ? [gateway.clock] : []),
    webAppCheck(),
    ...variablesCheck(env),
    ...(await settingsChecks(folder, values.claude ?? env['ASKBACK_CLAUDE'])),
    hooksCheck(env),
  ]
  if (values.json) printJson({ version: version(), checks })
  else process.stdout.write(checkTable(checks))
  return checks.some(({ ok }) => ok === false) ? 1 : 0
}

/** The settings, and whether the agents and connectors in them can run. */
async function settingsChecks(folder: string, claude: string | undefined): Promise<DoctorCheck[]> {
  try {
    const { gateway: config } = await readConfig(folder, { claude })
    const { telegramToken, webhooks } = connectorSecrets(config, process.env)
    const agents = await Promise.all(
      agentAdapters(config.agents, []).map(async (adapter) => {
        const found = await adapter.check()
        if (found.reason !== undefined) return missing(adapter.name, found.reason)
        const uses = found.available && found.uses !== undefined ? `, with ${found.uses}` : ''
        return fine(adapter.name, `ready${uses}`)
      }),
    )
    return [
      ...agents,
      ...(telegramToken === null
        ? []
        : [fine('Telegram', 'has a token: askback telegram pair lets you answer there')]),
      ...(webhooks.length === 0 ? [] : [fine('webhooks', String(webhooks.length))]),
    ]
  } catch (error) {
    return [broken('settings', errorMessage(error))]
  }
}

function checkTable(checks: DoctorCheck[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length))
  const mark = (ok: boolean | null) => (ok === null ? '–' : ok ? '✓' : '✗')
  return checks
    .map(({ name, ok, says }) => `${mark(ok)} ${name.padEnd(width)}  ${spellOutLine(says, 'prose')}\n`)
    .join('')
}
