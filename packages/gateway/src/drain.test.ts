import type { ErrorBody, Interaction } from '@askback/protocol'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Api, sqlite, startTestGateway, type TestGateway } from './testing/index.js'

let gateway: TestGateway
let api: Api
beforeEach(async () => {
  gateway = await startTestGateway()
  api = new Api(gateway)
})
afterEach(() => gateway.close())

interface HttpResult {
  status: number
  body: string
}

/** Sends a request over a connection that is kept alive, as most clients do. */
function send(agent: Agent, method: string, path: string, body = ''): Promise<HttpResult> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${gateway.token}`,
      ...(body && { 'content-type': 'application/json' }),
    }
    const sent = request(`${gateway.url}${path}`, { method, agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (data: string) => (text += data))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
    })
    sent.on('error', reject).end(body)
  })
}

it('ends long polls with the current state, and leaves pending interactions pending', async () => {
  const id = await api.session()
  const item = await api.open(id)
  const agent = new Agent({ keepAlive: true })
  const arrived = once(gateway.gateway.app.server, 'request')
  const polling = send(agent, 'GET', `/api/sessions/${id}/interactions/${item.interactionId}?wait=60`)
  await arrived
  await gateway.gateway.drain()
  const { status, body } = await polling
  expect(status).toBe(200)
  expect((JSON.parse(body) as { interaction: Interaction }).interaction.status).toBe('pending')
  expect(await gateway.store.countPending()).toBe(1)
  agent.destroy()
})

it('finishes requests in flight, refuses new ones as unavailable, and then accepts no connections', async () => {
  const id = await api.session()
  const item = await api.open(id)
  const path = `/api/sessions/${id}/interactions/${item.interactionId}/response`
  const port = Number(new URL(gateway.url).port)
  const body = JSON.stringify(sqlite)
  const arrived = once(gateway.gateway.app.server, 'request')
  const inFlight = connect(port, '127.0.0.1')
  let answer = ''
  inFlight.setEncoding('utf8').on('data', (data: string) => (answer += data))
  inFlight.write(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${gateway.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
  )
  await arrived
  const drained = gateway.gateway.drain()

  const refused = await fetch(`${gateway.url}/api/sessions/${id}/interrupt`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}` },
  })
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(refused.headers.get('connection')).toBe('close')
  expect(((await refused.json()) as ErrorBody).error.code).toBe('unavailable')
  expect((await fetch(`${gateway.url}/readyz`)).status).toBe(503)
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)

  const closed = once(inFlight, 'close')
  inFlight.write(body.slice(10))
  await drained
  await closed
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  const tooLate = connect(port, '127.0.0.1')
  const [error] = (await once(tooLate, 'error')) as [NodeJS.ErrnoException]
  expect(error.code).toBe('ECONNREFUSED')
})

it('disconnects requests that do not end in time', async () => {
  const slow = await startTestGateway({ config: { drainMs: 50 } })
  const socket = connect(Number(new URL(slow.url).port), '127.0.0.1')
  socket.on('error', () => undefined).resume()
  socket.write('POST /api/sessions HTTP/1.1\r\nHost: localhost\r\n')
  await once(slow.gateway.app.server, 'connection')
  const closed = once(socket, 'close')
  await slow.close()
  await closed
  expect(socket.destroyed).toBe(true)
})

it('can be closed twice', async () => {
  await Promise.all([gateway.close(), gateway.close()])
  await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow('fetch failed')
})

it('leaves the host and the store open, which belong to the caller', async () => {
  await gateway.gateway.close()
  await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow('fetch failed')
  const { session } = await gateway.host.desk.createSession({ agent: null })
  expect(await gateway.store.session(session.id)).toMatchObject({ id: session.id })
})
