import { DirectTransport, HttpTransport, WebSocketTransport } from '@askback/client'
import { transportConformance } from '@askback/client/testing'
import { createDesk, createHost, memoryStore } from '@askback/core'
import { backendOf, gatewayBehindProxy } from './gateway-behind-proxy.js'
import { PuppetAgent } from './puppet-agent.js'

transportConformance(
  'HttpTransport',
  gatewayBehindProxy(({ WebSocket: _, ...wire }, timing) => new HttpTransport({ ...wire, ...timing })),
)

transportConformance(
  'WebSocketTransport',
  gatewayBehindProxy((wire, timing) => new WebSocketTransport({ ...wire, ...timing })),
)

transportConformance(
  'DirectTransport',
  async () => {
    const store = memoryStore()
    const puppet = new PuppetAgent()
    const onError = (error: unknown) => {
      throw error
    }
    const host = createHost({ desk: createDesk({ store, onError }), agents: [puppet], onError })
    await host.ready
    return {
      transport: new DirectTransport(host, { actor: { id: 'ada', name: 'Ada' } }),
      other: new DirectTransport(host, { actor: { id: 'bob', name: 'Bob' } }),
      backend: backendOf(() => ({ host }), store, puppet),
      faults: null,
      async close() {
        await host.close()
        await store.close()
      },
    }
  },
  { isReliable: true },
)
