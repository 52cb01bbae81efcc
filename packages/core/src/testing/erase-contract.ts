import { describe, expect, it } from 'vitest'
import { withoutMessage } from '../store/audit.js'
import { appendsAfter, freshStore, type CreateStore } from './fresh-store.js'
import { answer, ask, SessionScript, text, toolCall } from './session-script.js'

export function eraseContract(createStore: CreateStore): void {
  describe('erase', () => {
    const store = freshStore(createStore)

    async function fill(sessionId: string): Promise<SessionScript> {
      const script = new SessionScript(sessionId)
      const { kv, ...start } = { ...script.start(), kv: [{ key: `session/${sessionId}/k`, value: 1 }] }
      await store().append({ ...start, kv })
      const id = (name: string) => `${sessionId}-${name}`
      await store().append(
        script.next(...ask(id('open'), { expiresAt: 9 }), ...ask(id('done')), toolCall('c')),
      )
      await store().append(script.next(...answer(id('done'), { message: `words of ${sessionId}` })))
      await store().saveSnapshot(sessionId, { seq: 3, version: 1, state: { sessionId } })
      return script
    }

    it('removes everything that belongs to the session and nothing else', async () => {
      const beginning = await store().head()
      await fill('gone')
      await fill('kept')
      await store().kv.put('session/gone-not', 1, null)
      await store().kv.put('session/go', 1, null)
      await store().erase('gone')

      expect(await store().read({ sessionId: 'gone', limit: 100 })).toEqual([])
      expect(await store().session('gone')).toBeNull()
      expect((await store().sessions({ limit: 10 })).items.map(({ id }) => id)).toEqual(['kept'])
      expect(await store().countSessions()).toBe(1)
      expect(await store().interaction('gone-open')).toBeNull()
      expect(await store().interaction('gone-done')).toBeNull()
      expect(await store().interactionsOf('gone', 'call-gone-open')).toEqual([])
      expect((await store().pending({ limit: 10 })).items.map(({ interactionId }) => interactionId)).toEqual([
        'kept-open',
      ])
      expect((await store().pending({ sessionId: 'gone', limit: 10 })).items).toEqual([])
      expect(await store().countPending()).toBe(1)
      expect(await store().pendingCounts()).toEqual(new Map([['kept', 1]]))
      expect(await store().deadlines()).toEqual([
        { sessionId: 'kept', interactionId: 'kept-open', expiresAt: 9 },
      ])
      expect(await store().toolCall('gone', 'c')).toBeNull()
      expect(await store().loadSnapshot('gone')).toBeNull()
      const changes = await appendsAfter(store(), { after: beginning, limit: 100 })
      expect(changes.map(({ sessionId }) => sessionId)).toEqual(['kept', 'kept', 'kept'])
      expect((await store().kv.list('session/')).map(({ key }) => key)).toEqual([
        'session/go',
        'session/gone-not',
        'session/kept/k',
      ])
      expect(await store().loadSnapshot('kept')).toEqual({ seq: 3, version: 1, state: { sessionId: 'kept' } })
    })

    it('leaves the audit, without messages that people wrote', async () => {
      await fill('gone')
      await fill('kept')
      const before = (await store().audit({ limit: 10 })).items
      expect(before).toMatchObject([{ message: 'words of gone' }, { message: 'words of kept' }])
      await store().erase('gone')
      expect((await store().audit({ limit: 10 })).items).toEqual([withoutMessage(before[0]!), before[1]])
    })

    it('a session can be started again under the same id', async () => {
      const old = await fill('s')
      const cursor = await store().head()
      await store().erase('s')
      expect(await store().append(old.next(text('late')))).toEqual({ ok: false, conflict: 'seq' })
      const script = new SessionScript('s')
      const first = script.start({ title: 'new' })
      expect(await store().append(first)).toEqual({ ok: true })
      expect(await store().read({ sessionId: 's', limit: 100 })).toEqual(first.events)
      expect(await store().session('s')).toMatchObject({ title: 'new' })
      expect(await store().loadSnapshot('s')).toBeNull()
      const changes = await appendsAfter(store(), { after: cursor, limit: 100 })
      expect(changes.map(({ events }) => events)).toEqual([first.events])
      expect((await store().audit({ limit: 10 })).items).toHaveLength(1)
    })

    it('changes nothing if the session does not exist', async () => {
      await fill('s')
      await store().erase('nobody')
      expect(await store().countSessions()).toBe(1)
      await Promise.all([store().erase('s'), store().erase('s')])
      expect(await store().countSessions()).toBe(0)
    })

    it('is a change in a shared store', async () => {
      await fill('s')
      const cursor = await store().head()
      await store().erase('s')
      const changes = await store().changes({ after: cursor, limit: 100 })
      const withoutCursor = changes.map(({ sessionId, events }) => ({ sessionId, events }))
      expect(withoutCursor).toEqual(store().shared ? [{ sessionId: 's', events: [] }] : [])
    })

    it('runs in order with the appends', async () => {
      const script = await fill('s')
      const other = new SessionScript('s')
      const results = await Promise.all([
        store().append(script.next(text('still there'))),
        store().erase('s'),
        store().append(script.next(text('too late'))),
        store().append(other.start()),
      ])
      expect([results[0], results[2], results[3]]).toEqual([
        { ok: true },
        { ok: false, conflict: 'seq' },
        { ok: true },
      ])
      expect(await store().read({ sessionId: 's', limit: 100 })).toHaveLength(1)
    })
  })
}
