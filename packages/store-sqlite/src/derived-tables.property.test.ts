import { memoryStore, type Append, type Store } from '@askback/core'
import {
  answer,
  ask,
  deliver,
  progress,
  SessionScript,
  text,
  toolCall,
  toolResult,
} from '@askback/core/testing'
import type { NewEvent } from '@askback/protocol'
import * as fc from 'fast-check'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase, type OpenDatabase } from './open.js'
import { createStore } from './sqlite-store.js'
import { copyAsKilled, testFolder } from './testing/files.js'
import { contentOf, findings } from './testing/tables.js'

let folder: ReturnType<typeof testFolder>
let path: string
let copies = 0
const open: Store[] = []

beforeEach(() => {
  folder = testFolder()
  path = join(folder.path, 'askback.db')
})
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
  folder.remove()
})

type Fault = 'before commit' | 'after commit' | null

/** A store whose next commit fails as `fail` says. */
function start({ at = path, commitInThread = false } = {}) {
  const fault: { next: Fault } = { next: null }
  const failing = (when: Fault) => {
    if (fault.next !== when) return
    fault.next = null
    throw Object.assign(new Error('injected'), { code: 'SQLITE_FULL' })
  }
  const withFaults = (db: OpenDatabase): OpenDatabase => ({
    ...db,
    commit() {
      failing('before commit')
      db.commit()
      failing('after commit')
    },
    async commitInThread() {
      failing('before commit')
      await db.commitInThread()
      failing('after commit')
    },
  })
  const store = createStore(withFaults(openDatabase(at)), { commitInThread })
  open.push(store)
  return { store, fail: (next: Fault) => (fault.next = next) }
}

function nextPath(): string {
  return join(folder.path, `copy-${++copies}.db`)
}

const killed = () => copyAsKilled(path, nextPath())

const SESSIONS = ['a', 'b']
/** Of each session two interactions, of which one has an id that C would cut. */
const IDS = SESSIONS.flatMap((name) => [name, `${name}\0${name}`])

/** The next thing that happens to an interaction: each is asked, answered and asked again, for ever. */
function eventsOf(id: string, round: number): NewEvent[] {
  const steps: NewEvent[][] = [
    [toolCall(`call-${id}`), ...ask(id, { expiresAt: 2_000_000_000_000 + round })],
    [progress(id, ['half']), text('still working')],
    // With a rule an answer has two rows in the audit. The second must not take the place of an event, in whatever order these are.
    round % 4 === 2
      ? answer(id, { message: `because of ${round}`, ruleId: `rule-${round}` }).toReversed()
      : answer(id, { message: `because of ${round}`, ...(round % 4 === 0 && { ruleId: `rule-${round}` }) }),
    [deliver(id), toolResult(`call-${id}`)],
    [
      ...ask(id),
      ...answer(id, { settlement: 'superseded' }),
      ...ask(id, { toolCallId: `call-${id}` }),
      ...answer(id, round % 2 === 0 ? { copyOf: 'elsewhere' } : {}),
    ],
    [
      { type: 'session_status', status: 'running', permissionMode: 'plan', via: 'web', by: { id: 'ada' } },
      text('more'),
    ],
  ]
  return steps[round % steps.length]!
}

type Step =
  | { do: 'append'; session: string; isOdd: boolean; fault: Fault }
  | { do: 'appendAll'; fault: Fault }
  | { do: 'erase'; session: string; fault: Fault }
  | { do: 'read'; fault: Fault }
  | { do: 'act'; fault: Fault }
  | { do: 'kill' }
  | { do: 'restart' }

const faults = fc.constantFrom<Fault>(null, null, null, null, 'before commit', 'after commit')
const session = fc.constantFrom(...SESSIONS)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ do: fc.constant('append' as const), session, isOdd: fc.boolean(), fault: faults }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('appendAll' as const), fault: faults }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('erase' as const),
      session,
      fault: fc.constantFrom<Fault>(null, null, 'before commit'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('read' as const), fault: faults }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('act' as const), fault: faults }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'kill' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'restart' }) },
)

/** A store with faults beside one in memory, which gets what the log of the first one has. */
class Pair {
  readonly #model = memoryStore()
  /** How far each interaction is. */
  readonly #rounds = new Map<string, number>()
  readonly #subjects = new Map<Append, string>()
  readonly #commitInThread: boolean
  #real: ReturnType<typeof start>

  constructor(commitInThread: boolean) {
    this.#commitInThread = commitInThread
    this.#real = start({ commitInThread })
  }

  async run(given: Step): Promise<void> {
    if ('fault' in given) this.#real.fail(given.fault)
    if (given.do === 'append')
      await this.#append([
        await this.#next(given.session, given.isOdd ? `${given.session}\0${given.session}` : given.session),
      ])
    else if (given.do === 'appendAll') await this.#append(await this.#everywhere())
    else if (given.do === 'erase') await this.#erase(given.session)
    else if (given.do === 'act') await this.#act()
    else if (given.do === 'kill') await this.#kill()
    else if (given.do === 'restart') await this.#restart()
    if (given.do === 'read') await this.compare(this.#real.store)
    this.#real.fail(null)
  }

  async compare(store: Store): Promise<void> {
    expect(await contentOf(store, { sessions: SESSIONS, ids: IDS })).toEqual(
      await contentOf(this.#model, { sessions: SESSIONS, ids: IDS }),
    )
  }

  async end(): Promise<void> {
    await this.compare(this.#real.store)
    await this.#kill()
  }

  async #kill(): Promise<void> {
    const at = killed()
    expect(findings(at)).toEqual([])
    const { store } = start({ at })
    await this.compare(store)
    await store.close()
    expect(findings(at)).toEqual([])
  }

  async #restart(): Promise<void> {
    await this.#real.store.close()
    expect(findings(path)).toEqual([])
    this.#real = start({ commitInThread: this.#commitInThread })
  }

  async #everywhere(): Promise<Append[]> {
    const others = ['c', 'd', 'e', 'f'].map((name) => this.#next(name, `of ${name}`))
    return Promise.all([...SESSIONS.map((name) => this.#next(name, 'text')), ...others])
  }

  async #next(name: string, id: string): Promise<Append> {
    const known = await this.#model.read({ sessionId: name, limit: 1000 })
    const script = new SessionScript(name)
    script.seq = known.length
    if (known.length === 0) return script.start({ by: { id: 'ada' }, permissionMode: 'plan' })
    const round = this.#rounds.get(id) ?? 0
    if (id === 'text') return script.next(text('word'))
    const append = script.next(...eventsOf(id, round))
    this.#subjects.set(append, id)
    return append
  }

  /** In the model goes what the log has, whatever the store said about its commit. */
  async #append(appends: Append[]): Promise<void> {
    await Promise.allSettled(appends.map((append) => this.#real.store.append(append)))
    for (const append of appends) {
      const { sessionId, expectedSeq } = append
      const [found] = await this.#real.store.read({ sessionId, after: expectedSeq, limit: 1 })
      if (found?.id !== append.events[0]!.id) continue
      await this.#model.append(append)
      const id = this.#subjects.get(append)
      if (id !== undefined) this.#rounds.set(id, (this.#rounds.get(id) ?? 0) + 1)
    }
  }

  async #erase(name: string): Promise<void> {
    await this.#real.store.erase(name).catch(() => undefined)
    if ((await this.#real.store.read({ sessionId: name, limit: 1 })).length === 0)
      await this.#model.erase(name)
  }

  async #act(): Promise<void> {
    const act = { at: 1, act: 'login' as const, by: { id: 'ada' } }
    const before = (await this.#model.audit({ limit: 10_000 })).items.length
    await this.#real.store.addAudit([act]).catch(() => undefined)
    this.#real.fail(null)
    const after = (await this.#real.store.audit({ limit: 10_000 })).items.length
    if (after > before) await this.#model.addAudit([act])
  }
}

describe.each([false, true])('with commits in another thread: %s', (commitInThread) => {
  it('the tables follow from the log, whatever fails', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
        try {
          const pair = new Pair(commitInThread)
          for (const each of steps) await pair.run(each)
          await pair.end()
        } finally {
          for (const store of open.splice(0)) await store.close()
          folder.remove()
          folder = testFolder()
          path = join(folder.path, 'askback.db')
        }
      }),
      { numRuns: 15 },
    )
  }, 300_000)
})
