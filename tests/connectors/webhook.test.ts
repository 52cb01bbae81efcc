import { connectorDesk } from '@askback/connectors'
import {
  signWebhook,
  startWebhook,
  type RunningWebhook,
  type WebhookOptions,
} from '@askback/connectors/webhook'
import { createDesk, createHost, memoryStore, type Host, type Store } from '@askback/core'
import type { Json } from '@askback/protocol'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'

interface ReceivedCall {
  headers: IncomingHttpHeaders
  text: string
  body: { id: string; type: string; interaction: { kind: string; settlement?: string } | null }
}

const SECRET = 'whsec_c2VjcmV0LW9mLXRoZS13ZWJob29r'
let calls: ReceivedCall[]
/** The next responses of the receiver; 200 when none is left. 0 closes the connection. */
let responses: { status: number; headers?: Record<string, string> }[]
let errors: unknown[]
let store: Store
let host: Host
let running: RunningWebhook
let url: string

const server = createServer((request, response) => {
  let text = ''
  request.setEncoding('utf8').on('data', (data: string) => (text += data))
  request.on('end', () => {
    const { status, headers = {} } = responses.shift() ?? { status: 200 }
    if (status === 0) return void request.socket.destroy()
    calls.push({ headers: request.headers, text, body: JSON.parse(text) as ReceivedCall['body'] })
    response.writeHead(status, headers).end('{"ignored":true}')
  })
})

beforeEach(async () => {
  calls = []
  responses = []
  errors = []
  store = memoryStore()
  const onError = (error: unknown) => errors.push(error)
  host = createHost({ desk: createDesk({ store, onError }), onError })
  await host.ready
  await host.desk.createSession({ id: 's', agent: null })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
})
afterEach(async () => {
  await running.stop()
  await host.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

async function start(options: Partial<WebhookOptions> = {}): Promise<void> {
  const desk = connectorDesk(host, store, { sessions: 'all' })
  running = startWebhook({ url, secret: SECRET, desk, onError: (error) => errors.push(error), ...options })
  await running.ready
}

async function ask(): Promise<string> {
  const request: Json = { input: { command: 'ls' } }
  const { interaction } = await host.desk.open({
    sessionId: 's',
    kind: 'approval',
    toolName: 'Bash',
    request,
  })
  return interaction.interactionId
}

const approve = (interactionId: string) =>
  host.desk.as({ by: { id: 'ada' } }).respond({ interactionId, answer: { decision: 'approve' } })
const types = () => calls.map(({ body }) => body.type)
async function expectCalls(count: number): Promise<void> {
  await expect.poll(() => calls.length, { interval: 10 }).toBe(count)
}

it('calls for requests and settlements, in order and signed', async () => {
  await start()
  await approve(await ask())
  await expectCalls(2)
  expect(types()).toEqual(['interaction.requested', 'interaction.settled'])
  expect(calls[1]!.body.interaction).toMatchObject({
    kind: 'approval',
    settlement: 'approved',
    by: { id: 'ada' },
  })
  for (const { headers, text, body } of calls) {
    expect(headers['webhook-id']).toBe(body.id)
    const timestamp = Number(headers['webhook-timestamp'])
    expect(headers['webhook-signature']).toBe(signWebhook(SECRET, { id: body.id, timestamp, body: text }))
  }
  expect(new Set(calls.map(({ body }) => body.id)).size).toBe(2)
})

it('of one tenant gets nothing of the sessions of others', async () => {
  await start({ desk: connectorDesk(host, store, { sessions: { tags: { tenant: 'acme' } } }) })
  await ask()
  await host.desk.setTags('s', { tenant: 'acme' })
  const ours = await ask()
  await expectCalls(1)
  expect(calls[0]!.body.interaction).toMatchObject({ interactionId: ours })
})

it('signs as the standard defines it', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1614265330, body: '{"test": 2432232314}' }
  expect(signWebhook(secret, message)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

it('repeats a call with the same id until it succeeds, and keeps the order', async () => {
  responses = [{ status: 500 }, { status: 0 }, { status: 302, headers: { location: 'http://127.0.0.1:1/' } }]
  await start({ random: () => 0, clock: quickClock() })
  await approve(await ask())
  await expectCalls(4)
  const [first] = calls
  expect(calls.slice(0, 3).map(({ body }) => body.id)).toEqual([
    first!.body.id,
    first!.body.id,
    first!.body.id,
  ])
  expect(types().at(-1)).toBe('interaction.settled')
  expect(errors).toHaveLength(1)
})

it('waits as long as Retry-After says', async () => {
  responses = [{ status: 429, headers: { 'retry-after': '120' } }]
  const waits: number[] = []
  await start({ clock: quickClock(waits) })
  await ask()
  await expectCalls(2)
  expect(waits).toContain(120_000)
})

it('begins with new events at its first start, and continues where it was after a restart', async () => {
  await ask()
  await start()
  const item = await ask()
  await expectCalls(1)
  await running.stop()
  await approve(item)
  await start()
  // If it was stopped before it knew that the first call succeeded, that call is repeated with the same id.
  const receivedTypes = () => [
    ...new Map(calls.map(({ headers, body }) => [headers['webhook-id'], body.type])).values(),
  ]
  await expect.poll(receivedTypes).toEqual(['interaction.requested', 'interaction.settled'])
})

it('gives up on a call that never succeeds, and sends the next', async () => {
  responses = Array.from({ length: 3 }, () => ({ status: 400 }))
  await start({ giveUpMs: 1000, clock: quickClock(), random: () => 1 })
  await approve(await ask())
  await expect.poll(() => types().at(-1)).toBe('interaction.settled')
  expect(errors.map(String).join()).toContain('given up')
})

/** A clock on which every wait ends after 5 ms, and the time advances by the whole wait. */
function quickClock(waits: number[] = []) {
  let now = 1_800_000_000_000
  return {
    now: () => now,
    alarm(at: number, ring: () => void) {
      waits.push(at - now)
      const timer = setTimeout(() => {
        now = Math.max(now, at)
        ring()
      }, 5)
      return () => clearTimeout(timer)
    },
  }
}
