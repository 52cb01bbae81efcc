import type { CreateSessionBody, Interaction, OpenInput, SessionEvent } from '@askback/protocol'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'
import { countingIds, fakeClock, type FakeClock } from '../testing/fake-clock.js'
import { createDesk, type Desk } from './desk.js'
import type { DeskOptions, Opened } from './desk-options.js'
import type { Settlement } from './settlement.js'

export const ada = { by: { id: 'ada', name: 'Ada' }, via: 'web' } as const
export const bob = { by: { id: 'bob' }, via: 'telegram' } as const

export const database = {
  questions: [
    {
      header: 'Database',
      question: 'Which database?',
      options: [{ label: 'Postgres' }, { label: 'SQLite' }],
      multiSelect: false,
    },
  ],
}
export const sqlite = { answers: [{ selected: ['SQLite'] }] }
export const listFiles = { input: { command: 'ls' } }
export const yes = { decision: 'approve' }
export const no = { decision: 'deny' }
export const port = {
  message: 'Where?',
  schema: { fields: [{ name: 'port', type: 'number', required: true, max: 65535 }] },
}

export interface TestDesk {
  store: Store
  clock: FakeClock
  desk: Desk
  /** Errors of background work, which have no caller. */
  errors: unknown[]
  /** Opens an interaction in the session `s`. */
  open: (kind: string, request: unknown, more?: Partial<OpenInput>) => Promise<Interaction>
  opened: (kind: string, request: unknown, more?: Partial<OpenInput>) => Promise<Opened>
  /** The events of session `s` after a `seq`. */
  events: (after?: number) => Promise<SessionEvent[]>
  types: (after?: number) => Promise<string[]>
  seq: () => Promise<number>
  /** Another desk on the same store, as after a restart; the old one is closed. */
  restart: (changes?: Partial<DeskOptions>) => Desk
}

/** A desk in memory with a fake clock, ids that are counted, and one session, `s`. */
export async function testDesk(
  options: Partial<DeskOptions> & { session?: CreateSessionBody } = {},
): Promise<TestDesk> {
  const { session, store = memoryStore(), ...rest } = options
  const clock = fakeClock()
  const newId = countingIds()
  const errors: unknown[] = []
  const make = (changes: Partial<DeskOptions> = {}) =>
    createDesk({ store, clock, newId, onError: (error) => errors.push(error), ...rest, ...changes })
  const events = (after = 0) => store.read({ sessionId: 's', after, limit: 10_000 })
  const test: TestDesk = {
    store,
    clock,
    desk: make(),
    errors,
    opened: (kind, request, more = {}) =>
      test.desk.open({ sessionId: 's', kind, request: request as OpenInput['request'], ...more }),
    open: async (kind, request, more) => (await test.opened(kind, request, more)).interaction,
    events,
    types: async (after) => (await events(after)).map((event) => event.type),
    seq: async () => (await events()).length,
    restart(changes) {
      test.desk.close()
      test.desk = make(changes)
      return test.desk
    },
  }
  await test.desk.ready
  if (!(await store.session('s'))) await test.desk.createSession({ ...session, id: 's' })
  return test
}

/** Resolves when everything that needs no timer is done. */
export function tick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve))
}

/** Starts a wait for a settlement, and resolves when its waiter is registered. */
export async function waiting(
  desk: Desk,
  interactionId: string,
): Promise<{ settlement: Promise<Settlement> }> {
  const settlement = desk.wait(interactionId)
  settlement.catch(() => undefined)
  await tick()
  return { settlement }
}

/** Whether a promise is settled by now. */
export async function isOver(promise: Promise<unknown>): Promise<boolean> {
  let over = false
  const end = () => (over = true)
  promise.then(end, end)
  await tick()
  return over
}
