import type { Interaction } from '@askback/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { at, sqlite, type RunningGateway } from '../e2e/http/gateways.js'
import { TestCluster } from './test-cluster.js'

let cluster: TestCluster
let a: RunningGateway
let b: RunningGateway
beforeAll(async () => {
  cluster = await TestCluster.start({ gateways: 0, leaseMs: 5000 })
})
afterAll(() => cluster.end())
beforeEach(async () => {
  a = await cluster.add()
  b = await cluster.add()
})
afterEach(() => cluster.gateways.splice(0))

/** Creates a person at one gateway, and waits until the other accepts their token. */
async function addPerson(name: string): Promise<string> {
  const made = await a.call<{ token: string }>('POST', '/api/tokens', { body: { person: name } })
  expect(made.status).toBe(201)
  const as = made.body.token
  await expect.poll(async () => (await b.call('GET', '/api/sessions', { as })).status).toBe(200)
  return as
}

async function revoke(name: string): Promise<void> {
  expect((await a.call('DELETE', `/api/tokens/${name}`)).status).toBe(200)
}

async function openInteraction(): Promise<Interaction> {
  return a.open(await a.session())
}

const isPending = async (item: Interaction) =>
  (await a.call<{ interaction: Interaction }>('GET', at(item))).body.interaction.status === 'pending'

describe('a person revoked on one gateway', () => {
  it('soon has no open socket at the other', async () => {
    const as = await addPerson('socket')
    const item = await openInteraction()
    const socket = new WebSocket(`${b.ready.url.replace('http', 'ws')}/api/ws`, {
      headers: { authorization: `Bearer ${as}` },
    })
    await new Promise((resolve) => socket.once('open', resolve))
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await revoke('socket')
    await closed
    expect(await isPending(item)).toBe(true)
  })

  it('has no stream and no long poll there either', async () => {
    const as = await addPerson('stream')
    const item = await openInteraction()
    const stream = await fetch(`${b.ready.url}/api/events`, { headers: { authorization: `Bearer ${as}` } })
    const read = stream.text().then(
      () => 'ended',
      () => 'ended',
    )
    const poll = b.call('GET', `${at(item)}?wait=30`, { as })
    await revoke('stream')
    expect(await read).toBe('ended')
    expect((await poll).status).toBe(401)
  })

  it('cannot act at a gateway that received no message about it', async () => {
    const as = await addPerson('unnoticed')
    const item = await openInteraction()
    const socket = new WebSocket(`${b.ready.url.replace('http', 'ws')}/api/ws`, {
      headers: { authorization: `Bearer ${as}` },
    })
    await new Promise((resolve) => socket.once('open', resolve))
    // Revoked in the store, without the message that another gateway would send.
    await cluster.sql(
      "UPDATE askback.kv SET value = (value::jsonb || '{\"revokedAt\":1}')::text WHERE key LIKE 'credential/person/%' AND value LIKE '%\"unnoticed\"%'",
    )
    const answers: unknown[] = []
    socket.on('message', (data: Buffer) => answers.push(JSON.parse(data.toString())))
    const { sessionId, interactionId } = item
    socket.send(JSON.stringify({ op: 'respond', ref: 1, sessionId, interactionId, ...sqlite }))
    const overHttp = await b.call('POST', `${at(item)}/response`, { body: sqlite, as })
    expect(overHttp.status).toBe(401)
    await expect
      .poll(() => answers[0] ?? (socket.readyState === WebSocket.CLOSED && 'closed'))
      .toSatisfy((answer) => answer === 'closed' || !(answer as { ok: boolean }).ok)
    expect(await isPending(item)).toBe(true)
  })

  it('cannot use a link that the other gateway made for them', async () => {
    const as = await addPerson('link')
    const { body } = await b.call<{ openUrl: string }>('POST', '/api/logins', { as })
    const code = new URL(body.openUrl).searchParams.get('code')
    await revoke('link')
    expect((await b.call('POST', '/api/login', { body: { code } })).status).toBe(401)
  })
})

it('a login that ends on one gateway ends on the other', async () => {
  const code = new URL(a.ready.openUrl).searchParams.get('code')
  const login = await fetch(`${a.ready.url}/api/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: a.ready.url },
    body: JSON.stringify({ code }),
  })
  const { proof } = (await login.json()) as { proof: string }
  const headers = { cookie: login.headers.get('set-cookie')!.split(';')[0]!, 'askback-proof': proof }
  const statusAt = async (gateway: RunningGateway) =>
    (await fetch(`${gateway.ready.url}/api/sessions`, { headers })).status
  await expect.poll(() => statusAt(b)).toBe(200)
  expect((await a.call('POST', '/api/logout', { body: { all: true } })).status).toBe(200)
  await expect.poll(() => statusAt(b)).toBe(401)
})
