import { createDesk, createHost, Leases, storeOnBus, type AgentAdapter } from '@askback/core'
import { postgresBus, postgresStore } from '@askback/store-postgres'

/** Half of it must be enough for a gateway on a busy machine to renew its lease. */
const LEASE_MS = 5000

/** The desk and host of one gateway of a cluster on PostgreSQL. */
export async function clusterMember(url: string, adapter: AgentAdapter, onError: (error: unknown) => void) {
  const log = await postgresStore({ url })
  const bus = await postgresBus({ url, onError })
  const store = storeOnBus(log, bus)
  const leases = new Leases({ store, bus, onError, leaseMs: LEASE_MS })
  const host = createHost({ desk: createDesk({ store, onError }), agents: [adapter], bus, leases, onError })
  await host.ready
  const close = async () => {
    await host.close()
    await bus.close()
    await log.close()
  }
  return { host, store, close }
}
