import { connect, type Askback, type DeskTarget, type Fetch, type GatewayTarget } from '@askback/client'
import { faultyFetch, type WireFaults } from '@askback/client/testing'
import { createDesk, defineInteraction, memoryStore } from '@askback/core'
import { startTestGateway, type TestGateway } from '@askback/gateway/testing'
import { z } from 'zod'
import { FaultyProxy } from '../transports/faulty-proxy.js'
import { askingContract } from './contract.js'
import type { AskingBackend } from './subject.js'

const rating = defineInteraction({
  kind: 'rating',
  presentation: 'questionnaire',
  request: z.object({ subject: z.string() }),
  answer: z.object({ stars: z.number().int().min(1).max(5) }),
})

/** Short pauses, because the tests wait for them. */
const RETRY = { random: () => 0, maxRetryDelay: '50ms' } as const

askingContract(
  'connect({ desk })',
  async () => {
    const store = memoryStore()
    const desk = createDesk({
      store,
      kinds: [rating],
      onError(error) {
        throw error
      },
    })
    await desk.ready
    const opened: Askback[] = []
    const open = (target: DeskTarget) => opened[opened.push(connect(target)) - 1]!
    return {
      askback: open({ desk }),
      restarted: () => open({ desk }),
      person: open({ desk, actor: { id: 'ada', name: 'Ada' } }),
      backend: backendOf(() => ({ desk, store })),
      rating,
      faults: null,
      async close() {
        for (const each of opened) each.close()
        desk.close()
        await store.close()
      },
    }
  },
  { isReliable: true },
)

askingContract('connect({ url, token })', async () => {
  const store = memoryStore()
  const start = () => startTestGateway({ store, kinds: [rating] })
  let running = await start()
  const proxy = new FaultyProxy(portOf(running))
  const url = await proxy.listen()
  const wireFaults: WireFaults = { shuffle: false, lostReplies: 0 }
  const faults = { refusals: 0, lostSettlements: 0 }
  const wire = withFaults(faults, faultyFetch(wireFaults))
  const { agentToken, token } = running
  const opened: Askback[] = []
  const open = (target: GatewayTarget) => opened[opened.push(connect({ ...RETRY, ...target })) - 1]!
  const program = { url, token: agentToken, fetch: wire }
  return {
    askback: open(program),
    restarted: () => open(program),
    person: open({ url: running.url, token, fetch: toCurrent(() => running) }),
    backend: backendOf(() => ({ desk: running.host.desk, store })),
    rating,
    faults: {
      cut: () => proxy.cut(),
      offline: () => proxy.offline(true),
      online: () => proxy.offline(false),
      async restart() {
        await running.close()
        running = await start()
        proxy.retarget(portOf(running))
      },
      refuse: (times) => void (faults.refusals = times),
      loseNextReply: () => void (wireFaults.lostReplies += 1),
      loseNextSettlement: () => void (faults.lostSettlements += 1),
      shuffle: (isOn) => void (wireFaults.shuffle = isOn),
    },
    async close() {
      for (const each of opened) each.close()
      await proxy.close()
      await running.close()
      await store.close()
    },
  }
})

/** A `fetch` that answers 503 in place of the gateway, or loses the reply that claims a settlement. */
function withFaults(faults: { refusals: number; lostSettlements: number }, inner: Fetch): Fetch {
  return async (input, init) => {
    if (faults.refusals > 0) {
      faults.refusals -= 1
      const body = { error: { code: 'unavailable', message: 'This gateway is stopping.' } }
      return Response.json(body, { status: 503, headers: { 'retry-after': '0' } })
    }
    const response = await inner(input, init)
    if (faults.lostSettlements === 0 || !/\/interactions\/[^/?]+$/u.test(input)) return response
    faults.lostSettlements -= 1
    await response.arrayBuffer()
    throw new TypeError('The connection was lost.')
  }
}

/** The person reaches the gateway without the proxy, wherever it listens now. */
function toCurrent(running: () => TestGateway): Fetch {
  return (input, init) => fetch(input.replace(/^http:\/\/[^/]+/u, running().url), init)
}

function backendOf(
  running: () => Pick<TestGateway, 'store'> & { desk: TestGateway['host']['desk'] },
): AskingBackend {
  return {
    pending: async () => (await running().desk.pending()).interactions,
    interaction: (sessionId, interactionId) => running().desk.interaction(sessionId, interactionId),
    log: (sessionId) => running().store.read({ sessionId, limit: 10_000 }),
    deleteSession: (sessionId) => running().desk.deleteSession(sessionId),
  }
}

function portOf({ url }: TestGateway): number {
  return Number(new URL(url).port)
}
