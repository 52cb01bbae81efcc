import { simulatedFetch } from './requests-to-gateway.js'
import { holds } from './violation.js'
import type { World } from './world.js'

const MAX_STREAMS = 8

/**
 * A client reads the stream of one session from some position, without a snapshot, for as long as the connection lasts. The
 * position is one that was delivered at some time; its log may have been erased since.
 */
export function tail(world: World, sessionId: string): void {
  const { random, model, network, live } = world
  if (live.length === 0 || network.size >= MAX_STREAMS) return
  const logs = [...model.logs.values()].filter(({ id }) => id === sessionId)
  const log = random.pick(logs.slice(-2))
  const after = random.chance(0.5) ? 0 : random.below((log?.deliveredSeq ?? 0) + 1)
  const named = log && random.chance(0.5) ? `&log=${log.logId}` : ''
  const fetch = simulatedFetch(world, () => {
    throw new Error('A client that only reads sends no answers.')
  })
  const headers = { accept: 'text/event-stream' }
  const url = `http://gateway/api/sessions/${sessionId}/events?after=${after}${named}`
  fetch(url, { method: 'GET', headers }).then(
    ({ status }) =>
      world.guard(() =>
        holds([200, 404, 503].includes(status), 'streams', () => `a stream is refused: ${status}`),
      ),
    // The process has crashed.
    () => undefined,
  )
}
