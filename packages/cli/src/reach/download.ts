import { AskbackError } from '@askback/protocol/errors'
import { createWriteStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { Connection } from './connection.js'
import { errorOf } from './gateway.js'

/** Without a byte for so long the connection is taken for dead. */
const STALL_MS = 60_000

/** Writes what the gateway answers to a new file, which only its owner can read. */
export async function download(connection: Connection, path: string, file: string): Promise<void> {
  const response = await get(connection, path)
  const { statusCode: status = 0, headers } = response
  if (status !== 200) throw errorOf({ status, headers, text: await text(response) })
  const output = createWriteStream(file, { flags: 'wx', mode: 0o600 })
  try {
    await pipeline(response, output)
  } catch (error) {
    if (response.complete) throw error
    throw new AskbackError('unavailable', 'The gateway ended before it had sent everything. Try again.', {
      cause: error,
    })
  }
}

async function get({ url, token }: Connection, path: string): Promise<IncomingMessage> {
  const target = new URL(path, url)
  const http = target.protocol === 'https:' ? await import('node:https') : await import('node:http')
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'askback-surface': 'cli' }
    const outgoing = http.get(target, { headers })
    outgoing.setTimeout(STALL_MS, () => outgoing.destroy(new Error('The gateway does not answer.')))
    outgoing.on('error', reject)
    outgoing.on('response', resolve)
  })
}
