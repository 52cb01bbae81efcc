import type { Host, Store } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { AllEvents } from '../../packages/gateway/src/streams/all-events.js'
import { Feeds } from '../../packages/gateway/src/streams/feed.js'
import { PageCache } from '../../packages/gateway/src/streams/pages.js'
import { encodeGone, encodeWithoutIds, sseEncoding } from '../../packages/gateway/src/streams/sse.js'
import type { World } from './world.js'

/** The streams of one process, as its gateway makes them. */
export interface SimulatedGateway {
  feeds: Feeds
  allEvents: AllEvents
}

/** Small, so that pages are evicted and read again. */
const CACHE_BYTES = 4000

export function simulatedGateway(world: World, host: Host, store: Store): SimulatedGateway {
  const { desk } = host
  const { bufferBytes } = world.plan
  const onError = (error: unknown) => {
    if (!(error instanceof AskbackError) || error.code !== 'unavailable') world.broke(error)
  }
  const cache = new PageCache(CACHE_BYTES)
  return {
    feeds: new Feeds({ host, store, encoding: sseEncoding, cache, bufferBytes, onError }),
    allEvents: new AllEvents({ desk, encode: encodeWithoutIds, encodeGone, bufferBytes }),
  }
}
