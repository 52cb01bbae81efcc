import { AskbackError, errorCodes, type ErrorBody, type ErrorCode } from '@askback/protocol'
import { parseArgs } from 'node:util'
import { defaultDataFolder } from './data-folder.js'
import { findGateway, type RunningGateway } from './running-gateway.js'
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
    const made = await call<{ token: string }>(folder, 'POST', '/api/tokens', { person: values.person })
    return print(values.json ? JSON.stringify(made) : made.token)
  }
  if (action === 'list' && name === undefined) {
    const listed = await call<Listed>(folder, 'GET', '/api/tokens')
    return print(values.json ? JSON.stringify(listed) : listed.tokens.map(line).join('\n'))
  }
  if (action === 'revoke' && name !== undefined && more.length === 0) {
    await call(folder, 'DELETE', `/api/tokens/${encodeURIComponent(name)}`)
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

async function call<Answer>(folder: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const gateway = findGateway(folder)
  const response = gateway && (await send(gateway, method, path, body))
  if (!response) {
    throw new AskbackError('unavailable', `No gateway runs on ${folder}. Start one with askback serve.`)
  }
  const answer = (await response.json()) as Answer | ErrorBody
  if (response.ok) return answer as Answer
  const { code, message } = (answer as ErrorBody).error
  throw new AskbackError(known(code), message)
}

/** `null` if nobody listens there any more. */
async function send(
  { url, token: bearer }: RunningGateway,
  method: string,
  path: string,
  body: unknown,
): Promise<Response | null> {
  try {
    return await fetch(new URL(path, url), {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        'askback-surface': 'cli',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  } catch {
    return null
  }
}

function known(code: string): ErrorCode {
  return Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : 'internal'
}
