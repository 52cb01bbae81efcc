import { fakeClock, type FakeClock } from '../testing/fake-clock.js'
import { scriptedTransport, type ScriptedTransport } from '../testing/scripted-transport.js'
import { createClient, type ClientOptions } from './client.js'

export interface OpenSessionOptions extends ClientOptions {
  /** Before anybody looks. */
  prepare?: (transport: ScriptedTransport, clock: FakeClock) => void
}

/** A client on a scripted transport, with one session that somebody looks at. */
export function openSession({ prepare, ...options }: OpenSessionOptions = {}) {
  const clock = fakeClock()
  const transport = scriptedTransport({ now: () => clock.now() })
  transport.play('s1')
  prepare?.(transport, clock)
  const client = createClient(transport, { clock, random: () => 0, schedule: (flush) => flush(), ...options })
  const store = client.session('s1')
  const told: number[] = []
  const leave = store.subscribe(() => told.push(store.getSnapshot().state?.seq ?? 0))
  return { clock, transport, client, store, told, leave, view: () => store.getSnapshot() }
}
