import { AskbackError } from '@askback/protocol/errors'
import { spellOutLine } from '@askback/protocol/hidden-characters'
import { parseArgs } from 'node:util'
import { usageError } from './arguments.js'
import { defaultDataFolder, findGateway, readPrivateFile, tokensFile } from './data-folder.js'
import { ADDRESS_FLAGS } from './reach/connection.js'
import { GatewayClient, gatewayAsPerson, gatewayOnFolder } from './reach/gateway-client.js'
import { printData, printJson, say } from './terminal.js'

/*
 * Commands about who may use a gateway: tokens, logins and pairings, and the audit of what people did.
 */

export const TOKEN_FLAGS = {
  person: { type: 'string' },
  data: { type: 'string' },
  json: { type: 'boolean' },
} as const

export const LOGOUT_FLAGS = { data: { type: 'string' }, json: { type: 'boolean' } } as const

export const TELEGRAM_FLAGS = { ...ADDRESS_FLAGS, json: { type: 'boolean', default: false } } as const

export const AUDIT_FLAGS = {
  ...ADDRESS_FLAGS,
  format: { type: 'string', default: 'jsonl' },
  only: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

interface TokenList {
  tokens: { name: string; createdAt: number | null }[]
}

/** `askback token create | list | revoke` calls the gateway that runs here; `token agent` reads the data folder. */
export async function token(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: TOKEN_FLAGS })
  const [action, name, ...more] = positionals
  const folder = values.data ?? defaultDataFolder()
  const gateway = gatewayOnFolder(folder)
  if (action === 'create' && values.person && name === undefined) {
    const body = { person: values.person }
    const created = await gateway.json<{ token: string }>({ method: 'POST', path: '/api/tokens', body })
    return print(created, values.json, created.token)
  }
  if (action === 'list' && name === undefined) {
    const listed = await gateway.json<TokenList>({ method: 'GET', path: '/api/tokens' })
    return print(listed, values.json, listed.tokens.map(tokenLine).join('\n'))
  }
  if (action === 'revoke' && name !== undefined && more.length === 0) {
    await gateway.json({ method: 'DELETE', path: `/api/tokens/${encodeURIComponent(name)}` })
    if (values.json) printJson({ ok: true })
    return 0
  }
  if (action === 'agent' && name === undefined) {
    const agentToken = findAgentToken(folder)
    return print({ agentToken }, values.json, agentToken)
  }
  throw usageError(
    'Usage: askback token create --person NAME, token list, token revoke NAME, or token agent.',
  )
}

/** Reads the token from the data folder, which only its owner can read. No gateway hands it out. */
function findAgentToken(folder: string): string {
  const found = findGateway(folder)?.agentToken ?? readPrivateFile(tokensFile(folder))?.['agentToken']
  if (typeof found === 'string') return found
  throw new AskbackError(
    'unavailable',
    `There is no token for agents in ${folder} yet. Start a gateway with askback serve.`,
  )
}

function print(value: object, json: boolean | undefined, text: string): number {
  if (json) printJson(value)
  else process.stdout.write(`${text}\n`)
  return 0
}

function tokenLine({ name, createdAt }: TokenList['tokens'][number]): string {
  const visibleName = spellOutLine(name, 'prose')
  return createdAt === null ? visibleName : `${visibleName}\t${new Date(createdAt).toISOString()}`
}

/** `askback logout [NAME]`: signs all browsers of a person out, at the gateway that runs here. */
export async function logout(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: LOGOUT_FLAGS })
  const [person, ...more] = positionals
  if (more.length > 0) throw usageError('Usage: askback logout [NAME].')
  const body = { all: true, ...(person !== undefined && { person }) }
  const gateway = gatewayOnFolder(values.data ?? defaultDataFolder())
  await gateway.json({ method: 'POST', path: '/api/logout', body })
  if (values.json) printJson({ ok: true })
  else process.stdout.write('All browsers are signed out. Run askback open to sign in again.\n')
  return 0
}

/** `askback telegram pair`: prints a code with which the person who runs this can answer in Telegram. */
export async function telegram(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: TELEGRAM_FLAGS })
  if (positionals.length !== 1 || positionals[0] !== 'pair') throw usageError('Usage: askback telegram pair.')
  const gateway = new GatewayClient('person', values, { env: process.env })
  const pairing = await gateway
    .json<{ code: string; expiresAt: number; link?: string }>({
      method: 'POST',
      path: '/api/connectors/telegram/pairings',
    })
    .catch((error: unknown) => {
      throw error instanceof AskbackError && error.code === 'not_found' ? noBotError() : error
    })
  const { code, link } = pairing
  if (values.json) printJson(pairing)
  else {
    process.stdout.write(`${code}\n`)
    const how = link ? `Open ${link}, or send` : 'Send'
    say(`${how} /pair ${code} to the bot. It works once, for ten minutes.`)
  }
  return 0
}

function noBotError(): AskbackError {
  return new AskbackError(
    'not_found',
    'This gateway has no Telegram bot. Start it with ASKBACK_TELEGRAM_TOKEN set to the token of one from @BotFather.',
  )
}

/** `askback audit`: prints who settled which request, and other acts of people, one line each. */
export async function audit(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: AUDIT_FLAGS })
  const format = values.json ? 'jsonl' : values.format
  if (format !== 'jsonl' && format !== 'csv') throw usageError('--format is jsonl or csv.')
  const { only } = values
  if (only !== undefined && only !== 'decisions' && only !== 'acts')
    throw usageError('--only is decisions or acts.')
  const query = new URLSearchParams({ format, ...(only !== undefined && { only }) })
  const gateway = gatewayAsPerson(values)
  const lines = await gateway.text({ method: 'GET', path: `/api/audit?${query.toString()}` })
  printData(lines)
  if (lines === '') process.stderr.write('The audit is empty.\n')
  return 0
}
