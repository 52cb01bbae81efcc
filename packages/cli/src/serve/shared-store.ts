import { Leases, storeOnBus, type Bus, type Store } from '@askback/core'
import { postgresBus, postgresStore } from '@askback/store-postgres'

export interface StoreAddress {
  url: string
  /** For the connection that listens, where `url` leads through a pooling proxy. */
  listenUrl?: string
  leaseMs?: number
}

/** What gateways share, and how they hear of each other. */
export interface SharedStore {
  store: Store
  bus: Bus
  leases: Leases
}

/** PostgreSQL, with everything that several gateways on it need. */
export async function openSharedStore(
  { url, listenUrl, leaseMs }: StoreAddress,
  onError: (error: unknown) => void,
): Promise<SharedStore> {
  const log = await postgresStore({ url })
  try {
    const bus = await postgresBus({ url, onError, ...(listenUrl !== undefined && { listenUrl }) })
    const store = storeOnBus(log, bus)
    const leases = new Leases({ store, bus, onError, ...(leaseMs !== undefined && { leaseMs }) })
    const close = async () => {
      await bus.close()
      await log.close()
    }
    return { store: { ...store, close }, bus, leases }
  } catch (error) {
    await log.close()
    throw error
  }
}
