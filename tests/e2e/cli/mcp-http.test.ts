import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { ErrorBody, Session } from '@askback/protocol'
import { request } from 'node:http'
import { expect, it } from 'vitest'
import { portToKeep, serve, type RunningGateway } from '../http/gateways.js'
import { picks, sharedGateway } from './asking.js'
import { call, connect, http, nextPending, respond } from './mcp-clients.js'

const shared = sharedGateway()
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}
const asks = { questions: [{ question: 'Which?', options: [{ label: 'a' }, { label: 'b' }] }] }

/** Not `fetch`: that sets Host and Origin itself. */
function post(
  { ready }: RunningGateway,
  {
    headers = {},
    path = '/mcp',
    method = 'POST',
  }: { headers?: Record<string, string>; path?: string; method?: string },
): Promise<{ status: number; code: string | undefined; headers: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, ready.url), {
      method,
      headers: {
        authorization: `Bearer ${ready.agentToken}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    })
    sent.on('error', reject)
    sent.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (data: string) => (text += data))
      response.on('end', () => {
        const code = text.startsWith('{') ? (JSON.parse(text) as Partial<ErrorBody>).error?.code : undefined
        resolve({ status: response.statusCode ?? 0, code, headers: response.headers })
      })
    })
    sent.end(method === 'POST' ? JSON.stringify(initialize) : undefined)
  })
}

it.each([
  ['no token', { authorization: '' }, 401],
  ['a wrong token', { authorization: 'Bearer wrong' }, 401],
  ['a page of another site', { origin: 'https://evil.example' }, 403],
  ['a page of another port', { origin: 'http://127.0.0.1:1' }, 403],
  ['a rebound name', { host: 'evil.example' }, 403],
  ['a form of another site', { 'sec-fetch-site': 'cross-site' }, 403],
  ['no JSON', { 'content-type': 'text/plain' }, 415],
])('%s is refused', async (_, headers, status) => {
  expect(await post(shared(), { headers })).toMatchObject({ status })
})

it('responds with the headers of every response', async () => {
  const { status, headers } = await post(shared(), {})
  expect(status).toBe(200)
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'mcp-session-id': expect.stringMatching(/^raw\./) as unknown,
  })
})

it.each(['GET', 'DELETE'])('refuses %s', async (method) => {
  expect(await post(shared(), { method })).toMatchObject({ status: 405 })
})

it('the token of a session may ask there, and nowhere else', async () => {
  const gateway = shared()
  const body = { agent: 'demo', title: 'Run here' }
  const made = await gateway.call<{ session: Session }>('POST', '/api/sessions', { body })
  const own = made.body.session.id
  const other = await gateway.session()
  // An outside agent has no way into a session that has an agent of its own.
  expect(await post(gateway, { path: `/mcp?session=${own}` })).toMatchObject({
    status: 403,
    code: 'forbidden',
  })
  expect(await post(gateway, { path: `/mcp?session=nowhere` })).toMatchObject({ status: 404 })
  expect(await post(gateway, { path: `/mcp?session=${other}` })).toMatchObject({ status: 200 })
})

it('asks in the session that is named', async () => {
  const gateway = shared()
  const sessionId = await gateway.session()
  const client = new Client({ name: 'tester', version: '1.0.0' })
  const transport = http(gateway, gateway.ready.agentToken, `?session=${sessionId}`)
  await client.connect(transport)
  const asked = call(client, 'ask_user', asks)
  const item = await nextPending(gateway)
  expect(item).toMatchObject({ sessionId })
  await respond(gateway, item, picks('a'))
  await asked
  await client.close()
})

it('an agent that asked cannot answer', async () => {
  const gateway = shared()
  const asked = call(await connect('http', gateway), 'ask_user', asks)
  const item = await nextPending(gateway)
  const path = `/api/sessions/${item.sessionId}/interactions/${item.interactionId}/response`
  const answer = { body: { answer: picks('a') }, as: gateway.ready.agentToken }
  expect(await gateway.call('POST', path, answer)).toMatchObject({ status: 403 })
  await respond(gateway, item, picks('b'))
  expect((await asked).text).toContain('"b"')
})

it('has one session for each client, named after it, also after a restart of the gateway', async () => {
  const port = await portToKeep()
  const gateway = await serve({ port })
  const client = await connect('http', gateway)
  const ask = async (at: RunningGateway) => {
    const asked = call(client, 'ask_user', asks)
    const item = await nextPending(at)
    await respond(at, item, picks('a'))
    await asked
    return item.sessionId
  }
  const sessionId = await ask(gateway)
  expect(await ask(gateway)).toBe(sessionId)
  await gateway.stop('SIGTERM')
  const next = await serve({ data: gateway.data, port })
  expect(await ask(next)).toBe(sessionId)
  const { body } = await next.call<{ sessions: Session[] }>('GET', '/api/sessions')
  expect(body.sessions).toMatchObject([{ id: sessionId, title: 'tester', agent: null }])
})

it('a gateway that drains ends requests in progress, and what is pending stays pending', async () => {
  const gateway = await serve()
  const client = await connect('http', gateway)
  const asked = call(client, 'ask_user', asks).then(
    () => 'answered',
    () => 'cut',
  )
  const { interactionId } = await nextPending(gateway)
  const ended = await gateway.stop('SIGTERM')
  expect({ ...ended, stderr: gateway.command.stderr }).toEqual({ code: 0, signal: null, stderr: '' })
  const next = await serve({ data: gateway.data })
  expect(await nextPending(next)).toMatchObject({ interactionId, status: 'pending' })
  await client.close()
  expect(await asked).toBe('cut')
})
