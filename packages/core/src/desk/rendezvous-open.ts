import type { SessionEvent } from '@askback/protocol'
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
  let waited = false
  let look = () => {}
  // Its ringing ends the wait, whatever the clock says then: it may have been set back.
  const disarm = clock.alarm(clock.now() + RENDEZVOUS_WAIT_MS, () => {
    waited = true
    look()
  })
  let stop = () => {}
  try {
    ;({ stop } = await engine.follow(sessionId, {
      advanced({ events }) {
        // A call is reported, or free again.
        const isNews = ({ type }: SessionEvent) => type === 'tool_call' || type === 'interaction_response'
        if (events.some(isNews)) look()
      },
      gone: () => look(),
    }))
    for (;;) {
      const news = new Promise<void>((resolve) => (look = resolve))
      const anchored: OpenCommand = { ...command, anchoring: { by: 'rendezvous', waited } }
      const ran = await engine.run(sessionId, anchored, key, fence)
      if (!ran.wait) return ran
      await news
    }
  } finally {
    stop()
    disarm()
  }
}
