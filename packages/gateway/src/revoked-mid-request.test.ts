import type { Interaction } from '@askback/protocol'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Api, approval, approve, signIn, startTestGateway, type TestGateway } from './testing/index.js'

let gateway: TestGateway
let owner: Api
beforeEach(async () => {
  gateway = await startTestGateway()
  owner = new Api(gateway)
})
afterEach(() => gateway.close())

/** Sends the headers, and the body once `finish` is called. Resolves when the gateway has seen the headers. */
async function slowRequest(path: string, body: object, headers: Record<string, string>) {
  const { port } = new URL(gateway.url)
  const text = JSON.stringify(body)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const seen = once(gateway.gateway.app.server, 'request')
  const socket = connect(Number(port), '127.0.0.1')
  let received = ''
  socket.on('data', (data) => (received += String(data)))
  socket.write(
    [
      `POST ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      ...lines,
      'Content-Type: application/json',
      `Content-Length: ${text.length}`,
      'Connection: close',
      '',
      text.slice(0, 1),
    ].join('\r\n'),
  )
  await seen
  return async (): Promise<number> => {
    socket.write(text.slice(1))
    await once(socket, 'close')
    return Number(received.split(' ', 2)[1])
  }
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

it('refuses a request whose body is complete only after its person was revoked', async () => {
  const { body } = await owner.post<{ token: string }>('/api/tokens', { person: 'bob' })
  const bob = bearer(body.token)
  const item = await owner.open(await owner.session(), approval)
  const session = `/api/sessions/${item.sessionId}`
  const finish = [
    await slowRequest('/api/tokens', { person: 'robert' }, bob),
    await slowRequest('/api/tokens', { person: 'bob' }, bob),
    await slowRequest('/api/logins', {}, bob),
    await slowRequest(`${session}/interactions/${item.interactionId}/response`, approve, bob),
    await slowRequest(`${session}/permission-mode`, { mode: 'bypassPermissions' }, bob),
  ]
  expect((await owner.delete('/api/tokens/bob')).status).toBe(200)
  for (const end of finish) expect(await end()).toBe(401)
  const { body: after } = await owner.get<{ interaction: Interaction }>(
    `${session}/interactions/${item.interactionId}`,
  )
  expect(after.interaction.status).toBe('pending')
})

it('ends a long poll at once when its person is revoked, without the interaction', async () => {
  const { body } = await owner.post<{ token: string }>('/api/tokens', { person: 'bob' })
  const item = await owner.open(await owner.session(), approval)
  const path = `/api/sessions/${item.sessionId}/interactions/${item.interactionId}`
  const seen = once(gateway.gateway.app.server, 'request')
  const waiting = fetch(`${gateway.url}${path}?wait=60`, { headers: bearer(body.token) })
  await seen
  expect((await owner.get(path)).status).toBe(200)
  expect((await owner.delete('/api/tokens/bob')).status).toBe(200)
  const response = await waiting
  expect(response.status).toBe(401)
  expect(await response.json()).toMatchObject({ error: { code: 'unauthorized' } })
})

it('ends the MCP request of a person who is revoked, and of nobody else', async () => {
  const served: string[] = []
  const ended: string[] = []
  await gateway.close()
  gateway = await startTestGateway({
    mcp: ({ credential, response, signal }) =>
      new Promise((resolve) => {
        served.push(credential.id)
        signal.addEventListener('abort', () => {
          ended.push(credential.id)
          response.end('{}')
          resolve()
        })
      }),
  })
  owner = new Api(gateway)
  const { body } = await owner.post<{ token: string }>('/api/tokens', { person: 'bob' })
  const call = (token: string) =>
    fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { ...bearer(token), 'content-type': 'application/json' },
      body: '{}',
    })
  const [bobs, owners] = [call(body.token), call(gateway.token)]
  await expect.poll(() => served.toSorted()).toEqual(['person:bob', 'person:owner'])
  expect((await owner.delete('/api/tokens/bob')).status).toBe(200)
  await bobs
  expect(ended).toEqual(['person:bob'])
  await gateway.gateway.drain()
  await owners
})

it('refuses a request whose body is complete only after its browser was logged out', async () => {
  const login = await signIn(gateway)
  const finish = await slowRequest('/api/logins', {}, { ...login })
  expect((await owner.post('/api/logout', { all: true })).status).toBe(200)
  expect(await finish()).toBe(401)
})

it('refuses a request whose body is complete only after the session of its agent was deleted', async () => {
  const id = await owner.session()
  const agent = bearer(gateway.credentials.sessionToken(id))
  const body = { toolCallId: 'call', ...approval }
  const finish = await slowRequest(`/api/sessions/${id}/interactions`, body, agent)
  expect((await owner.delete(`/api/sessions/${id}`)).status).toBe(202)
  expect(await finish()).toBe(404)
})

it('a revocation is effective as soon as it is committed, while logins are still being deleted', async () => {
  const { body } = await owner.post<{ token: string }>('/api/tokens', { person: 'bob' })
  const { kv } = gateway.store
  const put = kv.put.bind(kv)
  let during: Promise<{ status: number }> | undefined
  kv.put = (key, ...rest) => {
    if (key.startsWith('credential/token/')) during = new Api(gateway, body.token).get('/api/sessions')
    return put(key, ...rest)
  }
  await owner.delete('/api/tokens/bob')
  expect((await during)?.status).toBe(401)
})
