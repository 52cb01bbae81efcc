import type { Interaction } from '@askback/protocol'
import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { at, question, serve, sqlite } from './gateways.js'
import { logIn } from './log-in.js'

type One = { interaction: Interaction }

describe.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)('a restart after %s', (signal) => {
  it('keeps tokens, logins, pending interactions and answers, and each answer is claimed once', async () => {
    const before = await serve()
    const { data } = before
    const { headers } = await logIn(before.ready.openUrl)
    const id = await before.session()
    const answered = await before.open(id)
    const pending = await before.open(id, 'the-key')
    const path = `${at(answered)}/response`
    expect((await before.call('POST', path, { body: sqlite, key: 'answer' })).status).toBe(200)
    const { code } = await before.stop(signal)
    if (signal !== 'SIGKILL') {
      expect(code).toBe(0)
      expect(existsSync(join(data, 'gateway.json'))).toBe(false)
    }

    const after = await serve({ data })
    expect(after.ready.token).toBe(before.ready.token)
    expect(after.ready.agentToken).toBe(before.ready.agentToken)
    expect((await fetch(`${after.ready.url}/api/sessions`, { headers })).status).toBe(200)
    const inbox = await after.call<{ interactions: Interaction[] }>('GET', '/api/interactions?status=pending')
    expect(inbox.body.interactions).toEqual([pending])
    expect(await after.open(id, 'the-key')).toEqual(pending)
    expect((await after.call('POST', path, { body: sqlite, key: 'answer' })).status).toBe(200)
    expect((await after.call('POST', path, { body: sqlite })).status).toBe(409)

    const as = after.ready.agentToken
    const first = await after.call<One>('GET', at(answered), { as })
    const second = await after.call<One>('GET', at(answered), { as })
    expect(first.body.interaction).toMatchObject({ settlement: 'answered', answer: sqlite.answer })
    expect(first.body.interaction.delivered).toBeUndefined()
    expect(second.body.interaction.delivered).toBe(true)
  })
})

describe('a drain', () => {
  it('ends long polls with what is still pending, and exits with 0', async () => {
    const gateway = await serve()
    const item = await gateway.open(await gateway.session())
    const as = gateway.ready.agentToken
    const polling = gateway.call<One>('GET', `${at(item)}?wait=60`, { as })
    const asking = gateway.call<One>('POST', `/api/sessions/${item.sessionId}/interactions?wait=60`, {
      body: question,
      as,
    })
    const count = async () =>
      (await gateway.call<{ interactions: unknown[] }>('GET', '/api/interactions')).body.interactions.length
    await expect.poll(count).toBe(2)
    const ended = gateway.stop('SIGTERM')
    expect(await polling).toMatchObject({ status: 200, body: { interaction: { status: 'pending' } } })
    expect(await asking).toMatchObject({ status: 201, body: { interaction: { status: 'pending' } } })
    expect(await ended).toEqual({ code: 0, signal: null })
    const after = await serve({ data: gateway.data })
    const inbox = await after.call<{ interactions: unknown[] }>('GET', '/api/interactions')
    expect(inbox.body.interactions).toHaveLength(2)
  })

  it('finishes an answer that is in flight, and ends at once after a second signal', async () => {
    const gateway = await serve()
    const item = await gateway.open(await gateway.session())
    const socket = connect(Number(new URL(gateway.ready.url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    const { token } = gateway.ready
    socket.write(
      `POST ${at(item)}/response HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"answer"`,
    )
    const isReady = async () => (await fetch(`${gateway.ready.url}/readyz`)).status
    // A later request on another connection has a response, so the first one has arrived, too.
    expect(await isReady()).toBe(200)
    void gateway.stop('SIGINT')
    await expect.poll(isReady).toBe(503)
    expect(await gateway.stop('SIGINT')).toEqual({ code: 130, signal: null })
  })
})

it('a caller that disconnects cancels nothing', async () => {
  const gateway = await serve()
  const id = await gateway.session()
  const as = gateway.ready.agentToken
  // With a raw socket: the gateway must have noticed its end before the answer is sent.
  const asking = request(new URL(`/api/sessions/${id}/interactions?wait=60`, gateway.ready.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json', 'idempotency-key': 'k' },
  })
  asking.on('error', () => undefined).end(JSON.stringify(question))
  const inbox = () => gateway.call<{ interactions: Interaction[] }>('GET', '/api/interactions?status=pending')
  await expect.poll(async () => (await inbox()).body.interactions.length).toBe(1)
  asking.destroy()
  await new Promise((resolve) => asking.on('close', resolve))
  // Noticing takes some turns of its event loop, and each call is at least one.
  for (let turn = 0; turn < 20; turn++) await inbox()
  const [item] = (await inbox()).body.interactions
  await gateway.call('POST', `${at(item!)}/response`, { body: sqlite })
  const again = await gateway.call<One>('POST', `/api/sessions/${id}/interactions?wait=60`, {
    body: question,
    as,
    key: 'k',
  })
  expect(again).toMatchObject({ status: 200, body: { interaction: { settlement: 'answered' } } })
  expect(again.body.interaction.delivered).toBeUndefined()
})
