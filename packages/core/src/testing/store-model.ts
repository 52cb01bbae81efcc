import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  emptyState,
  fold,
  type Interaction,
  type Json,
  type SessionEvent,
  type AuditRow,
} from '@askback/protocol'
import { auditRows, withoutMessage } from '../store/audit.js'
import type { Append, AppendResult, Store } from '../store/store.js'
import { appendsAfter, type CreateStore } from './fresh-store.js'
import {
  answer,
  ask,
  deliver,
  progress,
  SessionScript,
  text,
  toolCall,
  toolResult,
} from './session-script.js'

interface ModelCommand {
  op: 'text' | 'tool' | 'ask' | 'progress' | 'answer' | 'deliver' | 'stale' | 'put' | 'key' | 'erase'
  session: number
  pick: number
}

const command: fc.Arbitrary<ModelCommand> = fc.record({
  op: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom('text', 'ask', 'answer', 'progress', 'deliver', 'tool') },
    { weight: 4, arbitrary: fc.constantFrom('stale', 'put', 'key') },
    { weight: 1, arbitrary: fc.constant('erase') },
  ),
  session: fc.nat(2),
  pick: fc.nat(30),
})

/** Commands of one group run at the same time. */
const groups = fc.array(fc.array(command, { minLength: 1, maxLength: 6 }), { maxLength: 15 })

/** Compares a store with a model of it after random commands. */
export function modelContract(createStore: CreateStore): void {
  it('contains what the fold of its logs says, after any sequence of appends, conflicts and erasures', async () => {
    await fc.assert(
      fc.asyncProperty(groups, async (groups) => {
        const store = await createStore()
        const model = new StoreModel()
        for (const group of groups) {
          const steps = group.map((command) => model.step(command))
          const results = await Promise.all(steps.map((step) => step.run(store)))
          expect(results).toEqual(steps.map((step) => step.expected))
        }
        expect(await model.contentsOf(store)).toEqual(model.contents())
        await store.close()
      }),
      { seed: 20_261_115, numRuns: 60 },
    )
    // Sixty stores are opened, filled and read, which is slow if each is a database.
  }, 60_000)
}

/** An operation on the store, and what it must return. */
interface ModelStep {
  run(store: Store): Promise<unknown>
  expected: unknown
}

/** What a store should contain after some commands: the logs, and everything else derived from them by the fold. */
class StoreModel {
  readonly #scripts = new Map<string, SessionScript>()
  readonly #opened: { sessionId: string; interactionId: string }[] = []
  #commits: Append[] = []
  #audit: AuditRow[] = []
  #keys = new Map<string, Json>()

  step({ op, session, pick }: ModelCommand): ModelStep {
    const sessionId = `s${session}`
    const script = this.#scripts.get(sessionId)
    if (op === 'put') return this.#put(`${pick % 3}`, pick)
    if (op === 'erase') return this.#erase(sessionId)
    if (!script) return this.#start(sessionId)
    const { interactionId } =
      this.#opened.filter((opened) => opened.sessionId === sessionId).at(-1 - (pick % 3)) ?? {}
    switch (op) {
      case 'tool':
        return this.#append(
          script.next(toolCall(`c${pick % 4}`), ...(pick % 2 ? [toolResult(`c${pick % 3}`)] : [])),
        )
      case 'ask':
        return this.#ask(script, pick)
      case 'stale':
        return this.#conflict(
          script.attempt(script.seq + (pick % 2 || script.seq < 2 ? 1 : -1), text('stale')),
          'seq',
        )
      case 'key':
        return this.#createKey(script, `session/${sessionId}/${pick % 3}`)
      case 'progress':
        if (!interactionId || !this.#isPending(sessionId, interactionId)) break
        return this.#append(script.next(progress(interactionId, [`${pick}`])))
      case 'answer':
        if (!interactionId || !this.#isPending(sessionId, interactionId)) break
        return this.#append(script.next(...answer(interactionId, { message: `${pick}` })))
      case 'deliver':
        if (!interactionId || this.#isPending(sessionId, interactionId)) break
        return this.#append(script.next(deliver(interactionId)))
      case 'text':
        break
      default:
        op satisfies never
    }
    return this.#append(
      script.next(...Array.from({ length: 1 + (pick % 4) }, (_, index) => text(`${pick}.${index}`))),
    )
  }

  /** Everything that a store can be asked for. */
  contents() {
    const ids = this.#commits.filter(({ expectedSeq }) => expectedSeq === 0).map(({ sessionId }) => sessionId)
    const states = ids.map((id) => fold(emptyState(id), this.#events(id)))
    const interactions = new Map<string, Interaction>(states.flatMap((state) => [...state.interactions]))
    const pending = this.#commits
      .flatMap(({ events }) => events)
      .flatMap((event) =>
        event.type === 'interaction_request' ? [interactions.get(event.interactionId)!] : [],
      )
      .filter((item) => item.status === 'pending')
    return {
      sessions: ids.toReversed(),
      logs: ids.map((id) => this.#events(id)),
      changes: this.#commits.map(({ sessionId, events }) => ({ sessionId, events })),
      interactions: this.#opened.map(({ interactionId }) => interactions.get(interactionId) ?? null),
      pending,
      pendingBySession: ids.map((id) => pending.filter((item) => item.sessionId === id)),
      audit: this.#audit,
      keys: [...this.#keys].toSorted(([one], [other]) => (one < other ? -1 : 1)),
    }
  }

  async contentsOf(store: Store): Promise<ReturnType<StoreModel['contents']>> {
    const ids = (await store.sessions({ limit: Infinity })).items.map(({ id }) => id)
    const byAge = ids.toReversed()
    const changes = await appendsAfter(store, { limit: Infinity })
    return {
      sessions: ids,
      logs: await Promise.all(byAge.map((sessionId) => store.read({ sessionId, limit: Infinity }))),
      changes: changes.map(({ sessionId, events }) => ({ sessionId, events })),
      interactions: await Promise.all(
        this.#opened.map(({ interactionId }) => store.interaction(interactionId)),
      ),
      pending: (await store.pending({ limit: Infinity })).items,
      pendingBySession: await Promise.all(
        byAge.map(async (sessionId) => (await store.pending({ sessionId, limit: Infinity })).items),
      ),
      audit: (await store.audit({ limit: Infinity })).items,
      keys: (await store.kv.list('')).map(({ key, value }) => [key, value]),
    }
  }

  #events(sessionId: string): SessionEvent[] {
    return this.#commits.filter((commit) => commit.sessionId === sessionId).flatMap(({ events }) => events)
  }

  #isPending(sessionId: string, interactionId: string): boolean {
    const { interactions } = fold(emptyState(sessionId), this.#events(sessionId))
    return interactions.get(interactionId)?.status === 'pending'
  }

  #start(sessionId: string): ModelStep {
    const script = new SessionScript(sessionId)
    this.#scripts.set(sessionId, script)
    return this.#append(script.start())
  }

  #append(append: Append): ModelStep {
    this.#commits.push(append)
    this.#audit.push(...append.events.flatMap(auditRows))
    for (const { key, value } of append.kv ?? []) this.#keys.set(key, value)
    return { run: (store) => store.append(append), expected: { ok: true } satisfies AppendResult }
  }

  #ask(script: SessionScript, pick: number): ModelStep {
    const interactionId = `i${this.#opened.length}`
    this.#opened.push({ sessionId: script.sessionId, interactionId })
    const request = ask(interactionId, pick % 2 ? { expiresAt: pick } : {})
    return this.#append(script.next(...request, ...(pick % 5 === 0 ? answer(interactionId) : [])))
  }

  #createKey(script: SessionScript, key: string): ModelStep {
    const kv = [{ key, value: script.seq, ifAbsent: true }]
    if (this.#keys.has(key)) return this.#conflict({ ...script.attempt(script.seq, text('seen')), kv }, 'kv')
    return this.#append({ ...script.next(text('first')), kv })
  }

  #conflict(append: Append, conflict: 'seq' | 'kv'): ModelStep {
    return { run: (store) => store.append(append), expected: { ok: false, conflict } satisfies AppendResult }
  }

  #put(key: string, value: number): ModelStep {
    const isNew = !this.#keys.has(key)
    if (isNew) this.#keys.set(key, value)
    return { run: (store) => store.kv.put(key, value, null), expected: isNew }
  }

  #erase(sessionId: string): ModelStep {
    this.#scripts.delete(sessionId)
    this.#commits = this.#commits.filter((commit) => commit.sessionId !== sessionId)
    this.#audit = this.#audit.map((row) => (row.sessionId === sessionId ? withoutMessage(row) : row))
    for (const key of this.#keys.keys()) if (key.startsWith(`session/${sessionId}/`)) this.#keys.delete(key)
    return { run: (store) => store.erase(sessionId), expected: undefined }
  }
}
