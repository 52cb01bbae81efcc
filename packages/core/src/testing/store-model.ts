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
import { appendsAfter } from './fresh-store.js'
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

export interface Command {
  op: 'text' | 'tool' | 'ask' | 'progress' | 'answer' | 'deliver' | 'stale' | 'put' | 'key' | 'erase'
  session: number
  pick: number
}

/** A step to take on the store, and what it must return. */
export interface Step {
  run(store: Store): Promise<unknown>
  expected: unknown
}

/** What a store should hold after some commands: the logs, and everything else derived from them by the fold. */
export class StoreModel {
  readonly #scripts = new Map<string, SessionScript>()
  readonly #asked: { sessionId: string; interactionId: string }[] = []
  #commits: Append[] = []
  #audit: AuditRow[] = []
  #keys = new Map<string, Json>()

  step({ op, session, pick }: Command): Step {
    const sessionId = `s${session}`
    const script = this.#scripts.get(sessionId)
    if (op === 'put') return this.#put(`${pick % 3}`, pick)
    if (op === 'erase') return this.#erase(sessionId)
    if (!script) return this.#start(sessionId)
    const { interactionId } =
      this.#asked.filter((asked) => asked.sessionId === sessionId).at(-1 - (pick % 3)) ?? {}
    switch (op) {
      case 'tool':
        return this.#append(
          script.next(toolCall(`c${pick % 4}`), ...(pick % 2 ? [toolResult(`c${pick % 3}`)] : [])),
        )
      case 'ask':
        return this.#ask(script, pick)
      case 'stale':
        return this.#refused(
          script.attempt(script.seq + (pick % 2 || script.seq < 2 ? 1 : -1), text('stale')),
          'seq',
        )
      case 'key':
        return this.#once(script, `session/${sessionId}/${pick % 3}`)
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

  /** Everything that can be read. */
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
      asked: this.#asked.map(({ interactionId }) => interactions.get(interactionId) ?? null),
      pending,
      pendingBySession: ids.map((id) => pending.filter((item) => item.sessionId === id)),
      audit: this.#audit,
      keys: [...this.#keys].toSorted(([one], [other]) => (one < other ? -1 : 1)),
    }
  }

  async contentsOf(store: Store): Promise<ReturnType<StoreModel['contents']>> {
    const ids = (await store.sessions({ limit: Infinity })).items.map(({ id }) => id)
    const inOrder = ids.toReversed()
    const changes = await appendsAfter(store, { limit: Infinity })
    return {
      sessions: ids,
      logs: await Promise.all(inOrder.map((sessionId) => store.read({ sessionId, limit: Infinity }))),
      changes: changes.map(({ sessionId, events }) => ({ sessionId, events })),
      asked: await Promise.all(this.#asked.map(({ interactionId }) => store.interaction(interactionId))),
      pending: (await store.pending({ limit: Infinity })).items,
      pendingBySession: await Promise.all(
        inOrder.map(async (sessionId) => (await store.pending({ sessionId, limit: Infinity })).items),
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

  #start(sessionId: string): Step {
    const script = new SessionScript(sessionId)
    this.#scripts.set(sessionId, script)
    return this.#append(script.start())
  }

  #append(append: Append): Step {
    this.#commits.push(append)
    this.#audit.push(...append.events.flatMap(auditRows))
    for (const { key, value } of append.kv ?? []) this.#keys.set(key, value)
    return { run: (store) => store.append(append), expected: { ok: true } satisfies AppendResult }
  }

  #ask(script: SessionScript, pick: number): Step {
    const interactionId = `i${this.#asked.length}`
    this.#asked.push({ sessionId: script.sessionId, interactionId })
    const request = ask(interactionId, pick % 2 ? { expiresAt: pick } : {})
    return this.#append(script.next(...request, ...(pick % 5 === 0 ? answer(interactionId) : [])))
  }

  #once(script: SessionScript, key: string): Step {
    const kv = [{ key, value: script.seq, ifAbsent: true }]
    if (this.#keys.has(key)) return this.#refused({ ...script.attempt(script.seq, text('seen')), kv }, 'kv')
    return this.#append({ ...script.next(text('first')), kv })
  }

  #refused(append: Append, conflict: 'seq' | 'kv'): Step {
    return { run: (store) => store.append(append), expected: { ok: false, conflict } satisfies AppendResult }
  }

  #put(key: string, value: number): Step {
    const isNew = !this.#keys.has(key)
    if (isNew) this.#keys.set(key, value)
    return { run: (store) => store.kv.put(key, value, null), expected: isNew }
  }

  #erase(sessionId: string): Step {
    this.#scripts.delete(sessionId)
    this.#commits = this.#commits.filter((commit) => commit.sessionId !== sessionId)
    this.#audit = this.#audit.map((row) => (row.sessionId === sessionId ? withoutMessage(row) : row))
    for (const key of this.#keys.keys()) if (key.startsWith(`session/${sessionId}/`)) this.#keys.delete(key)
    return { run: (store) => store.erase(sessionId), expected: undefined }
  }
}
