import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach } from 'vitest'
import { file as commandFile } from '../http/command.js'
import type { RunningGateway } from '../http/gateways.js'
import type { How } from './mcp-clients.js'

const clients: Client[] = []
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
})

interface NewestOptions extends ClientOptions {
  /** How long a call of the server waits, in milliseconds. */
  waitMs?: number
  token?: string
}

/** The official client, which here speaks the specification of 2026-07-28 and nothing else. */
export async function connectNewest(
  how: How,
  { ready, data }: RunningGateway,
  { waitMs, token = ready.agentToken, ...options }: NewestOptions = {},
): Promise<Client> {
  const versionNegotiation = { mode: { pin: '2026-07-28' } }
  const client = new Client({ name: 'newest', version: '2.0.0' }, { versionNegotiation, ...options })
  clients.push(client)
  const query = waitMs === undefined ? '' : `?wait=${waitMs / 1000}`
  await client.connect(
    how === 'http'
      ? new StreamableHTTPClientTransport(new URL(`${ready.url}/mcp${query}`), {
          requestInit: { headers: { authorization: `Bearer ${token}` } },
        })
      : new StdioClientTransport({
          command: process.execPath,
          args: [
            commandFile,
            'mcp',
            '--data',
            data,
            ...(waitMs === undefined ? [] : ['--wait', `${waitMs}ms`]),
          ],
          env: { PATH: process.env['PATH'] ?? '' },
          stderr: 'ignore',
        }),
  )
  return client
}
