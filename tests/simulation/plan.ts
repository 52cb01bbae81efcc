import type { Faults } from './store-connection.js'
import type { Random } from './random.js'

/** The parameters of one run, derived from its seed. Rates are weights or probabilities per step. */
export interface Plan {
  processes: number
  /** Whether several processes share one store; else only one process runs at a time. */
  shared: boolean
  faults: Faults
  crashes: number
  /** Whether a crashed process is replaced while others still run. */
  replaced: boolean
  deletions: number
  /** How often a session is deleted and at once created again under the same id. */
  recreations: number
  clock: number
  /** How often a waiter aborts and starts again. */
  aborts: number
  commands: number
  /** How fast commands arrive (`pace`) and processes work (`speed`): if processes keep up, commands rarely overlap. */
  pace: number
  speed: number
  /** After so many commands the run becomes idle and is checked; 0 means only at the end. */
  restEvery: number
  /** How often the next step starts before the effects of the last one are complete. */
  hurry: number
  sessions: number
  /** Limit of the desk's session cache, in events: a small one evicts almax every session. */
  inMemory: number
  pendingPerSession: number
  /** Whether doorbells get lost and the processes poll to repair that; else all arrive, and no process polls. */
  lossy: boolean
  /** How often a process loses its connection to the bus, or gets it back. */
  busOutages: number
  /** How often an agent reports so much that old turns leave the state's window. */
  floods: number
  /** Whether the log starts with enough events for a snapshot. */
  long: boolean
  /** The maximum difference between the clock of a process and the time, in milliseconds. */
  skewMs: number
  /** Whether the shared store implements `changedSessions`. */
  hasChangedSessions: boolean
  /** How often a page of changes is shorter than asked for. */
  shortPages: number
  /** How often a follower of one session, or of all, starts or stops. */
  followers: number
  /** How often a person with the client's own stores does something, or loses the connection. */
  clients: number
  /** How often a client starts to read the stream of a session, from any position in it. */
  tails: number
  /** In how many sessions the processes run an agent. */
  hosted: number
  /** How often something happens in those sessions. */
  hostPace: number
  /** Whether a chat connector shows the pending requests. */
  connector: boolean
  /** How many bytes a slow reader's socket accepts, and how many may wait in it before it is disconnected. */
  socketBytes: number
  bufferBytes: number
}

export function randomPlan(random: Random): Plan {
  const shared = random.chance(0.5)
  const hosted = random.chance(0.25) ? random.between(1, 2) : 0
  const faulty = random.chance(0.5)
  const rate = (max: number) => (faulty ? random.next() * max : 0)
  const crashes = random.chance(0.6) ? 0.15 : 0
  // Only polling finds the unfinished work of a crashed process.
  const lossy = crashes > 0 || random.chance(0.5)
  return {
    processes: shared ? random.between(2, 3) : 1,
    shared,
    faults: {
      refused: rate(random.pick([0.1, 0.1, 0.5])),
      unknown: rate(0.2),
      unreadable: rate(random.pick([0.03, 0.15])),
    },
    crashes,
    deletions: random.pick([0.2, 0.2, 3]),
    recreations: random.pick([0, 1, 6]),
    lossy,
    busOutages: shared && lossy ? random.pick([0, 0.2, 0.6]) : 0,
    replaced: !shared || !lossy || random.chance(0.5),
    clock: random.pick([0.2, 0.6, 1.5]),
    aborts: random.pick([0.4, 0.4, 3]),
    commands: random.between(15, 30),
    pace: random.pick([1, 2, 6]),
    speed: random.pick([8, 40, 40]),
    restEvery: random.pick([0, 3, 8]),
    hurry: random.pick([0, 0.3]),
    sessions: random.pick([1, 1, 2, 3]),
    inMemory: random.pick([1, 60, 100_000]),
    pendingPerSession: random.chance(0.1) ? 3 : 5000,
    floods: random.pick([0, 0.02, 0.15]),
    long: random.chance(0.2),
    skewMs: shared ? 400 : 0,
    hasChangedSessions: random.chance(0.5),
    shortPages: random.pick([0, 0.5]),
    followers: random.chance(0.5) ? 1 : 0,
    clients: random.chance(0.5) ? random.pick([1, 4]) : 0,
    tails: random.chance(0.5) ? random.pick([1, 3]) : 0,
    hosted,
    hostPace: random.pick([2, 6]),
    connector: random.chance(0.15),
    socketBytes: random.pick([200, 3000]),
    bufferBytes: random.pick([1000, 1e9]),
  }
}
