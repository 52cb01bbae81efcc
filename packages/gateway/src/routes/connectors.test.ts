import { memoryStore, createDesk, createHost, type Host } from '@askback/core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createCredentials } from '../credentials/credentials.js'
import { createGateway, type Gateway } from '../gateway.js'
import { question, startTestGateway, Api } from '../testing/index.js'

let gateway: Gateway
let host: Host
const received: unknown[] = []
beforeAll(async () => {
  const store = memoryStore()
  const onError = (error: unknown) => expect(error).toBeUndefined()
  const credentials = await createCredentials({
    store,
    owner: { name: 'Ada', tokens: ['a-person'] },
    agentToken: 'agents',
    onError,
  })
  host = createHost({ desk: createDesk({ store, onError }), onError })
  gateway = createGateway({
    host,
    store,
    credentials,
    config: { limits: { failedLoginsPerMinute: 3 } },
    connectors: [
      {
        id: 'chat',
        name: 'Chat',
        pair: (by) => ({ code: `for-${by.name}`, expiresAt: 1 }),
        async receive(headers, body) {
          received.push(body)
          return headers['x-secret'] === 'right'
        },
      },
      { id: 'mute', name: 'Mute' },
    ],
  })
})
afterAll(async () => {
  await gateway.close()
  await host.close()
})

async function call(
  method: 'GET' | 'POST',
  url: string,
  headers: Record<string, string> = {},
  payload?: object,
) {
  const response = await gateway.app.inject({
    method,
    url,
    headers: { host: 'localhost', ...headers },
    ...(payload && { payload }),
  })
  return { status: response.statusCode, body: response.json<Record<string, unknown>>() }
}

const person = { authorization: 'Bearer a-person' }

it('lists the connectors, and creates a pairing code for the person who asks', async () => {
  expect((await call('GET', '/api/connectors', person)).body).toEqual({
    connectors: [
      { id: 'chat', name: 'Chat', pairs: true },
      { id: 'mute', name: 'Mute', pairs: false },
    ],
  })
  expect(await call('POST', '/api/connectors/chat/pairings', person)).toEqual({
    status: 201,
    body: { code: 'for-Ada', expiresAt: 1 },
  })
  expect((await call('POST', '/api/connectors/mute/pairings', person)).status).toBe(404)
  expect((await call('POST', '/api/connectors/none/pairings', person)).status).toBe(404)
})

it('accepts updates with the secret of the connector only, and counts others as failed logins', async () => {
  const update = { update_id: 1 }
  expect((await call('POST', '/api/connectors/chat/updates', { 'x-secret': 'right' }, update)).status).toBe(
    200,
  )
  expect(received).toEqual([update])
  expect((await call('POST', '/api/connectors/mute/updates', {}, update)).status).toBe(404)
  const tries = []
  for (let n = 0; n < 5; n++)
    tries.push((await call('POST', '/api/connectors/chat/updates', {}, update)).status)
  expect(tries).toEqual([401, 401, 401, 429, 429])
})

it('reads at most 256 kB of an update', async () => {
  const update = { text: 'x'.repeat(256 * 1024) }
  const { status } = await call('POST', '/api/connectors/chat/updates', { 'x-secret': 'right' }, update)
  expect(status).toBe(413)
  expect(received).not.toContainEqual(update)
})

it('stores the answers to the first questions', async () => {
  const test = await startTestGateway({ listen: false })
  const api = new Api(test)
  const id = await api.session()
  const [asked] = question.request.questions
  const body = { ...question, request: { questions: [asked, asked] } }
  const { body: opened } = await api.post<{ interaction: { interactionId: string } }>(
    `/api/sessions/${id}/interactions`,
    body,
  )
  const path = `/api/sessions/${id}/interactions/${opened.interaction.interactionId}/progress`
  const selected = [asked!.options[0]!.label]
  const kept = await api.post<{ interaction: { progress: unknown } }>(path, { answers: [{ selected }] })
  expect(kept.body.interaction.progress).toEqual([{ selected }])
  expect((await api.post(path, { answers: [{ selected: ['None of these'] }] })).status).toBe(400)
  expect((await api.post(path, { answers: [{ selected }, { selected }] })).status).toBe(400)
  await test.close()
})
