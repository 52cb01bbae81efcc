import type { Fetch, Transport, WebSocketConstructor } from '@askback/client'
import {
  faultyFetch,
  faultyWebSocket,
  type ConformanceBackend,
  type ConformanceSubject,
  type SetUp,
  type WireFaults,
} from '@askback/client/testing'
import { memoryStore, type Store } from '@askback/core'
import { startTestGateway, type TestGateway } from '@askback/gateway/testing'
import { WebSocket } from 'ws'
import { FaultyProxy } from './faulty-proxy.js'
import { PuppetAgent } from './puppet-agent.js'

/** How to reach the gateway, with the faults in between. */
export interface GatewayWire {
  baseUrl: string
  token: string
  fetch: Fetch
  WebSocket: WebSocketConstructor
}

/**
 * A real gateway behind a proxy and faulty wires. A restarted gateway uses the same store, and so has the same log.
 */
export function gatewayBehindProxy(
  connect: (wire: GatewayWire, timing: Parameters<SetUp>[0]) => Transport,
): SetUp {
  return async (timing) => {
    const store = memoryStore()
    const puppet = new PuppetAgent()
    const start = () => startTestGateway({ store, agents: [puppet] })
    let running = await start()
    const proxy = new FaultyProxy(portOf(running))
    const wireFaults: WireFaults = { shuffle: false, lostReplies: 0 }
    const wire = {
      baseUrl: await proxy.listen(),
      fetch: faultyFetch(wireFaults),
      WebSocket: faultyWebSocket(wireFaults, WebSocket),
    }
    const token = running.credentials.createToken()
    await running.credentials.addToken('Grace', token)
    const subject: ConformanceSubject = {
      transport: connect({ ...wire, token }, timing),
      other: connect({ ...wire, token: running.token }, timing),
      backend: backendOf(() => running, store, puppet),
      faults: {
        cut: () => proxy.cut(),
        cutMidFrame: () => proxy.cutMidFrame(),
        stall: () => proxy.stall(),
        offline: () => proxy.offline(true),
        online: () => proxy.offline(false),
        async restart() {
          await running.close()
          running = await start()
          proxy.retarget(portOf(running))
        },
        shuffle(isOn) {
          wireFaults.shuffle = isOn
        },
        loseNextReply() {
          wireFaults.lostReplies += 1
        },
        revoke: () => running.credentials.revoke('Grace'),
      },
      async close() {
        await proxy.close()
        await running.close()
        await store.close()
      },
    }
    return subject
  }
}

export function backendOf(
  running: () => Pick<TestGateway, 'host'>,
  store: Store,
  puppet: PuppetAgent,
): ConformanceBackend {
  return {
    agent: puppet.id,
    ask: async (input) => (await running().host.desk.open(input)).interaction,
    report: async (sessionId, ...events) => {
      await running().host.desk.report({ sessionId, events })
    },
    live: (sessionId, delta) => puppet.live(sessionId, delta),
    log: (sessionId) => store.read({ sessionId, limit: 10_000 }),
  }
}

function portOf({ url }: TestGateway): number {
  return Number(new URL(url).port)
}
