import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type { Interaction } from '@askback/protocol'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { file as commandFile } from '../http/command.js'
import { at, type RunningGateway } from '../http/gateways.js'

export type How = 'stdio' | 'http'

/** Far below the time after which a client gives up. */
export const BRIEF_WAIT_MS = 300

const clients: Client[] = []
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
})

/** The official client, as an outside agent. */
export async function connect(
  how: How,
  gateway: RunningGateway,
  args: string[] = [],
  env?: Record<string, string>,
): Promise<Client> {
  const client = new Client({ name: 'tester', version: '1.0.0' })
  clients.push(client)
  const transport = how === 'stdio' ? stdio(gateway, args, env) : http(gateway, gateway.ready.agentToken)
  await client.connect(transport)
  return client
}

/** The same, with a server whose calls wait only for a moment. */
export async function connectBriefly(how: How, gateway: RunningGateway, query = ''): Promise<Client> {
  const client = new Client({ name: 'tester', version: '1.0.0' })
  clients.push(client)
  const token = gateway.ready.agentToken
  await client.connect(
    how === 'stdio'
      ? stdio(gateway, ['--wait', `${BRIEF_WAIT_MS}ms`])
      : http(gateway, token, `?wait=${BRIEF_WAIT_MS / 1000}${query}`),
  )
  return client
}

/** One client for all tests of a block that do not change it. */
export function sharedClient(how: How, gateway: () => RunningGateway): () => Client {
  let shared: Client | undefined
  beforeAll(async () => {
    shared = await connect(how, gateway())
    clients.splice(clients.indexOf(shared), 1)
  })
  afterAll(() => shared?.close())
  return () => shared!
}

export function http({ ready }: RunningGateway, token: string, query = ''): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(`${ready.url}/mcp${query}`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  })
}

/** Finds the gateway by its data folder, or by the environment. */
function stdio(
  { data, ready }: RunningGateway,
  args: string[],
  env?: Record<string, string>,
): StdioClientTransport {
  return new StdioClientTransport({
    command: process.execPath,
    args: [commandFile, 'mcp', ...(env ? [] : ['--data', data]), ...args],
    env: { PATH: process.env['PATH'] ?? '', ...(env && { ASKBACK_AGENT_TOKEN: ready.agentToken, ...env }) },
    stderr: 'ignore',
  })
}

export interface ToolCallResult {
  text: string
  interaction: unknown
  isError: boolean
}

export async function call(
  client: Client,
  name: string,
  given: Record<string, unknown>,
  options: RequestOptions & { meta?: Record<string, unknown> } = {},
): Promise<ToolCallResult> {
  const { meta, ...rest } = options
  const result = await client.callTool(
    { name, arguments: given, ...(meta && { _meta: meta }) },
    undefined,
    rest,
  )
  const [content] = result.content as { type: string; text: string }[]
  return {
    text: content?.text ?? '',
    interaction: result._meta?.['askback/interaction'],
    isError: result.isError === true,
  }
}

/** Waits for a pending interaction that was not returned before. */
export async function nextPending(gateway: RunningGateway, known: string[] = []): Promise<Interaction> {
  const find = async () => {
    const { body } = await gateway.call<{ interactions: Interaction[] }>('GET', '/api/interactions')
    return body.interactions.find(({ interactionId }) => !known.includes(interactionId))
  }
  await expect.poll(find).toBeDefined()
  return (await find())!
}

export async function respond(gateway: RunningGateway, item: Interaction, answer: unknown): Promise<void> {
  const { status } = await gateway.call('POST', `${at(item)}/response`, { body: { answer } })
  expect(status).toBe(200)
}
