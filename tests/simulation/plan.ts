import type { Faults } from './line.js'
import type { Random } from './random.js'

/** What kind of run a seed makes. */
export interface Plan {
  processes: number
  /** Several processes on one store; else one at a time. */
  shared: boolean
  faults: Faults
  crashes: number
  /** Whether a process that is gone is replaced while others live. */
  replaced: boolean
  deletions: number
  /** How often a session is deleted and at once made again under the same id. */
  remakes: number
  clock: number
  /** How often somebody stops waiting, and comes back. */
  aborts: number
  commands: number
  /** How fast they come, and how fast the processes work: where they keep up, things happen one after the other. */
  pace: number
  speed: number
  /** After so many commands everything comes to rest for a moment, and is checked; 0 for only at the end. */
  restEvery: number
  /** How often the next thing happens in the middle of what the last one has caused. */
  hurry: number
  sessions: number
  /** Few: hardly any session stays. */
  inMemory: number
  pendingPerSession: number
  /** Doorbells get lost, and a poll makes up for it; else all ring, and nobody polls. */
  lossy: boolean
  /** How often a process begins or ceases to lose every bell. */
  deafness: number
  /** How often an agent tells so much that old turns leave the window. */
  floods: number
  /** Begins with enough for a snapshot. */
  long: boolean
  /** By how much the clocks of two processes can differ from the time, in milliseconds. */
  skewMs: number
  /** Whether the shared store implements `changedSessions`. */
  hasChangedSessions: boolean
  /** How often a page of changes is shorter than asked for. */
  shortPages: number
  /** How often somebody begins or stops to follow one session, or all. */
  followers: number
  /** How often a person with the client's own stores does something, or loses the connection. */
  clients: number
  /** How often somebody begins to read the stream of a session, from any place in it. */
  tails: number
  /** In how many sessions the processes run an agent. */
  hosted: number
  /** How often something happens in those. */
  hostPace: number
  /** Whether a chat shows what waits. */
  connector: boolean
  /** How much a slow reader's socket takes, and how much may wait in it before it is cut. */
  socketBytes: number
  bufferBytes: number
}

export function randomPlan(random: Random): Plan {
  const shared = random.chance(0.5)
  const hosted = random.chance(0.25) ? random.between(1, 2) : 0
  const faulty = random.chance(0.5)
  const rate = (most: number) => (faulty ? random.next() * most : 0)
  const crashes = random.chance(0.6) ? 0.15 : 0
  // What a dead process has left only the poll finds.
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
    remakes: random.pick([0, 1, 6]),
    lossy,
    deafness: shared && lossy ? random.pick([0, 0.2, 0.6]) : 0,
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
