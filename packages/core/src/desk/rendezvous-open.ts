import type { OpenCommand } from '../decide/command.js'
import { RENDEZVOUS_WAIT_MS } from '../decide/rendezvous.js'
import type { Fence } from '../store/store.js'
import type { Engine } from './engine.js'
import type { IdempotencyKey, Ran } from './idempotency.js'

/** Opens an interaction that names no tool call: waits, within its limit, for the one that it belongs to. */
export async function openAtRendezvous(
  engine: Engine,
  sessionId: string,
  command: OpenCommand,
  key?: IdempotencyKey,
  fence?: Fence,
): Promise<Ran> {
  const { clock } = engine.options
  const deadline = clock.now() + RENDEZVOUS_WAIT_MS
  for (;;) {
    const waited = clock.now() >= deadline
    const recorded = nextToolCall(engine, sessionId, deadline)
    try {
      const anchored: OpenCommand = { ...command, anchoring: { by: 'rendezvous', waited } }
      const ran = await engine.run(sessionId, anchored, key, fence)
      if (!ran.wait) return ran
      await recorded.promise
    } finally {
      recorded.stop()
    }
  }
}

/** Resolves when the session's log gets a tool call, or at the deadline. */
function nextToolCall(
  engine: Engine,
  sessionId: string,
  deadline: number,
): { promise: Promise<void>; stop: () => void } {
  const { promise, resolve } = withResolvers()
  const off = engine.on((appended) => {
    const told = appended.events.length === 0 || appended.events.some((event) => event.type === 'tool_call')
    if (appended.sessionId === sessionId && told) resolve()
  })
  const disarm = engine.options.clock.alarm(deadline, resolve)
  return {
    promise,
    stop() {
      off()
      disarm()
    },
  }
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
