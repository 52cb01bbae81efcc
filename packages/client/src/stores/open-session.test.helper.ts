import { fakeClock, type FakeClock } from '@askback/protocol/testing'
import { scriptedTransport, type ScriptedTransport } from '../testing/scripted-transport.js'
import { createClient, type ClientOptions } from './client.js'

export interface OpenSessionOptions extends ClientOptions {
  /** Runs before the session has a listener. */
  prepare?: (transport: ScriptedTransport, clock: FakeClock) => void
}

/** A client on a scripted transport, with one session that has a listener. `notified` has the `seq` at each notification. */
export function openSession({ prepare, ...options }: OpenSessionOptions = {}) {
  const clock = fakeClock()
  const transport = scriptedTransport({ now: () => clock.now() })
  transport.play('s1')
  prepare?.(transport, clock)
  const client = createClient(transport, { clock, random: () => 0, schedule: (flush) => flush(), ...options })
  const store = client.session('s1')
  const notified: number[] = []
  const leave = store.subscribe(() => notified.push(store.getSnapshot().state?.seq ?? 0))
  return { clock, transport, client, store, notified, leave, view: () => store.getSnapshot() }
}
