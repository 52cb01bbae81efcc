import { parseArgs } from 'node:util'
import { defaultDataFolder } from './data-folder.js'
import { callGateway } from './gateway-call.js'
import { usageError } from './usage.js'

type Listed = { tokens: { name: string; createdAt: number | null }[] }

/** `askback token create | list | revoke`: goes through the gateway that runs. */
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
    return print(values.json ? JSON.stringify(made) : made.token)
  }
  if (action === 'list' && name === undefined) {
    const listed = await callGateway<Listed>(folder, 'GET', '/api/tokens')
    return print(values.json ? JSON.stringify(listed) : listed.tokens.map(line).join('\n'))
  }
  if (action === 'revoke' && name !== undefined && more.length === 0) {
    await callGateway(folder, 'DELETE', `/api/tokens/${encodeURIComponent(name)}`)
    return values.json ? print(JSON.stringify({ ok: true })) : 0
  }
  throw usageError('It is askback token create --person NAME, token list, or token revoke NAME.')
}

function print(text: string): number {
  process.stdout.write(`${text}\n`)
  return 0
}

function line({ name, createdAt }: Listed['tokens'][number]): string {
  return createdAt === null ? name : `${name}\t${new Date(createdAt).toISOString()}`
}
