import { memoryStore, type Store } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { Metrics } from '../metrics.js'
import { Api, startTestGateway, type TestGateway, approval, approve, question } from '../testing/index.js'
import { until } from '../testing/test-agents.test.helper.js'

const open: TestGateway[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((gateway) => gateway.close()))
})

async function start(copy?: Store['copy']): Promise<TestGateway> {
  const gateway = await startTestGateway({ store: { ...memoryStore(), ...(copy && { copy }) } })
  open.push(gateway)
  return gateway
}

function get({ url, token }: TestGateway, as = token): Promise<Response> {
  return fetch(`${url}/api/backup`, { headers: { authorization: `Bearer ${as}` } })
}

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

describe('GET /api/backup', () => {
  it('returns the bytes of the store to the first person', async () => {
    const gateway = await start((take) => take({ bytes: 10, chunks: chunks('hello', 'world') }))
    const response = await get(gateway)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/octet-stream')
    expect(response.headers.get('content-length')).toBe('10')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.text()).toBe('helloworld')
  })

  it('is refused to everybody else, because it contains the secret that signs the tokens of agents', async () => {
    const gateway = await start((take) => take({ bytes: 1, chunks: chunks('x') }))
    const made = await new Api(gateway).post<{ token: string }>('/api/tokens', { person: 'Bob' })
    expect((await get(gateway, made.body.token)).status).toBe(403)
    expect((await get(gateway, gateway.agentToken)).status).toBe(403)
    expect((await get(gateway, 'nobody')).status).toBe(401)
  })

  it('says what to use instead if the store is no file', async () => {
    const response = await get(await start())
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_request', message: expect.stringContaining('pg_dump') as unknown },
    })
  })

  it('responds with an error if the copy cannot begin, and ends short of its length if it fails later', async () => {
    const never = await start(() => Promise.reject(new Error('the disk is on fire')))
    expect((await get(never)).status).toBe(500)
    const midway = await start((take) =>
      take({
        bytes: 10,
        chunks: (async function* () {
          yield Buffer.from('hello')
          throw new Error('the disk is on fire')
        })(),
      }),
    )
    await expect(get(midway).then((response) => response.text())).rejects.toThrow('terminated')
  })

  it('releases the store when its reader disconnects', async () => {
    let ended: (value: unknown) => void = () => undefined
    const isOver = new Promise((resolve) => (ended = resolve))
    const gateway = await start(async (take) => {
      const endless = (async function* () {
        for (;;) yield Buffer.alloc(65_536)
      })()
      await take({ bytes: 2 ** 40, chunks: endless }).finally(() => ended(true))
    })
    const abort = new AbortController()
    const headers = { authorization: `Bearer ${gateway.token}` }
    const response = await fetch(`${gateway.url}/api/backup`, { headers, signal: abort.signal })
    expect(response.status).toBe(200)
    abort.abort()
    expect(await isOver).toBe(true)
  })
})

it('the metrics have the number and age of pending interactions, the settlements, and the time to answer', async () => {
  const clock = fakeClock()
  const gateway = await startTestGateway({ listen: false, clock })
  const person = new Api(gateway)
  const id = await person.session()
  const item = await person.open(id, approval)
  await person.open(id, question)
  clock.advance(30_000)
  await person.post(`/api/sessions/${id}/interactions/${item.interactionId}/response`, approve)
  clock.advance(12_000)
  const text = await until(async () => {
    const { body } = await person.get<string>('/api/metrics')
    return body.includes('askback_time_to_answer_seconds_count') ? body : null
  })
  expect(text).toContain('askback_pending 1')
  expect(text).toContain('askback_oldest_pending_seconds 42')
  expect(text).toContain('askback_settlements_total{kind="approval",settlement="approved"} 1')
  expect(text).toContain('askback_time_to_answer_seconds_sum{kind="approval"} 30')
  expect(text).toContain('askback_streams_open{transport="sse"} 0')
  await gateway.close()
})

it('the metrics have the duration of appends', async () => {
  const metrics = new Metrics()
  const store = metrics.measureAppends(memoryStore())
  const gateway = await startTestGateway({ listen: false, store })
  await new Api(gateway).session()
  expect(await metrics.text()).toContain('askback_append_seconds_count 1')
  await gateway.close()
})
