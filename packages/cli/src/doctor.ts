import { parseArgs } from 'node:util'
import { agentAdapters } from './agents.js'
import { readConfig } from './config.js'
import { defaultDataFolder } from './data-folder.js'
import { broken, fine, messageOf, missing, type Check } from './doctor/check.js'
import { acceptLossCheck, contentsChecks } from './doctor/contents.js'
import { databaseCheck, folderCheck } from './doctor/data.js'
import { gatewayCheck } from './doctor/gateway.js'
import { hooksCheck } from './doctor/hooks.js'
import { WHERE } from './reach/connection.js'
import { connectorSecrets } from './serve/connector-secrets.js'
import { webAppFolder } from './serve/web-app.js'
import { version } from './version.js'
import { printJson } from './output.js'
import { spellOutLine } from '@askback/protocol/hidden-characters'

const FLAGS = {
  ...WHERE,
  claude: { type: 'string' },
  deep: { type: 'boolean' },
  'accept-loss': { type: 'boolean' },
  json: { type: 'boolean' },
} as const

/** `askback doctor`: what is here, what is missing, and what to do about it. Ends with 1 if something is broken. */
export async function doctor(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: FLAGS })
  const { env } = process
  const folder = values.data ?? defaultDataFolder()
  const accepted = values['accept-loss'] ? [await acceptLossCheck(folder)] : []
  const gateway = await gatewayCheck(folder, values, { env, version: version() })
  const database = databaseCheck(folder, gateway.pid)
  const checks = [
    nodeCheck(),
    folderCheck(folder),
    ...(database ? [database] : []),
    ...accepted,
    ...(values.deep ? await contentsChecks(folder) : []),
    gateway.check,
    ...(gateway.clock ? [gateway.clock] : []),
    webAppCheck(),
    ...shellCheck(env),
    ...(await settingsChecks(folder, values.claude ?? env['ASKBACK_CLAUDE'])),
    hooksCheck(env),
  ]
  if (values.json) printJson({ version: version(), checks })
  else process.stdout.write(table(checks))
  return checks.some(({ ok }) => ok === false) ? 1 : 0
}

function nodeCheck(): Check {
  const { node } = process.versions
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isNew = major > 20 || (major === 20 && minor >= 19)
  return isNew ? fine('node', node) : broken('node', `${node} is too old: install 20.19 or newer`)
}

function webAppCheck(): Check {
  return webAppFolder() === undefined
    ? missing('web app', 'is not built: the gateway answers commands and programs, and shows no pages')
    : fine('web app', 'ready')
}

/** Why commands go elsewhere than one may think. */
function shellCheck(env: NodeJS.ProcessEnv): Check[] {
  const set = ['ASKBACK_URL', 'ASKBACK_SESSION', 'ASKBACK_TOKEN', 'ASKBACK_AGENT_TOKEN'].filter(
    (name) => env[name],
  )
  if (set.length === 0) return []
  const asks = env['ASKBACK_SESSION'] ? `: commands ask in the session ${env['ASKBACK_SESSION']}` : ''
  return [fine('environment', `${set.join(', ')} set${asks}`)]
}

async function settingsChecks(folder: string, claude: string | undefined): Promise<Check[]> {
  try {
    const config = readConfig(folder, { claude })
    const { telegramToken, webhooks } = connectorSecrets(config, process.env)
    const agents = await Promise.all(
      agentAdapters(config.agents).map(async (adapter) => {
        const found = await adapter.check()
        const uses = found.available && found.uses !== undefined ? `, with ${found.uses}` : ''
        return found.available ? fine(adapter.name, `ready${uses}`) : missing(adapter.name, found.reason)
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
    return [broken('settings', messageOf(error))]
  }
}

function table(checks: Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length))
  const mark = (ok: boolean | null) => (ok === null ? '–' : ok ? '✓' : '✗')
  return checks
    .map(({ name, ok, says }) => `${mark(ok)} ${name.padEnd(width)}  ${spellOutLine(says, 'prose')}\n`)
    .join('')
}
