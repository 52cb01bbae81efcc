import { AskbackError } from '@askback/protocol/errors'
import { spellOutLine } from '@askback/protocol/hidden-characters'
import { parseArgs } from 'node:util'
import { defaultDataFolder } from './data-folder.js'
import { callGateway } from './gateway-call.js'
import { readPrivate, tokensFile } from './private-file.js'
import { findGateway } from './running-gateway.js'
import { usageError } from './usage.js'
import { printJson } from './output.js'

type Listed = { tokens: { name: string; createdAt: number | null }[] }

/** `askback token create | list | revoke`: goes through the gateway that runs. `token agent` reads the data folder. */
export async function token(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { person: { type: 'string' }, data: { type: 'string' }, json: { type: 'boolean' } },
  })
  const [action, name, ...more] = positionals
  const folder = values.data ?? defaultDataFolder()
  if (action === 'create' && values.person && name === undefined) {
    const made = await callGateway<{ token: string }>(folder, 'POST', '/api/tokens', {
      person: values.person,
    })
    return print(made, values.json, made.token)
  }
  if (action === 'list' && name === undefined) {
    const listed = await callGateway<Listed>(folder, 'GET', '/api/tokens')
    return print(listed, values.json, listed.tokens.map(line).join('\n'))
  }
  if (action === 'revoke' && name !== undefined && more.length === 0) {
    await callGateway(folder, 'DELETE', `/api/tokens/${encodeURIComponent(name)}`)
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

/** From the files of the data folder alone, which only its owner can read: no gateway hands this token out. */
function findAgentToken(folder: string): string {
  const kept = findGateway(folder)?.agentToken ?? readPrivate(tokensFile(folder))?.['agentToken']
  if (typeof kept === 'string') return kept
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

function line({ name, createdAt }: Listed['tokens'][number]): string {
  const shown = spellOutLine(name, 'prose')
  return createdAt === null ? shown : `${shown}\t${new Date(createdAt).toISOString()}`
}
