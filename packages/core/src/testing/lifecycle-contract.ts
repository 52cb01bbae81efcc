import { describe, expect, it } from 'vitest'
import type { AppendNotice } from '../store/store.js'
import { freshStore, type CreateStore } from './fresh-store.js'
import { SessionScript, text } from './session-script.js'

export function lifecycleContract(createStore: CreateStore): void {
  const store = freshStore(createStore)

  describe('snapshots', () => {
    it('are stored, and an older one never replaces a newer one', async () => {
      const script = new SessionScript('s')
      await store().append(script.start())
      await store().append(script.next(text('a'), text('b'), text('c')))
      expect(await store().loadSnapshot('s')).toBeNull()
      await store().saveSnapshot('s', { seq: 3, version: 1, state: { at: 'three' } })
      await store().saveSnapshot('s', { seq: 2, version: 1, state: { at: 'two' } })
      expect(await store().loadSnapshot('s')).toEqual({ seq: 3, version: 1, state: { at: 'three' } })
      await store().saveSnapshot('s', { seq: 4, version: 2, state: { at: 'four' } })
      expect(await store().loadSnapshot('s')).toEqual({ seq: 4, version: 2, state: { at: 'four' } })
    })

    it('of an erased log are not stored for the next log of the session', async () => {
      const old = new SessionScript('s').start()
      await store().append(old)
      await store().erase('s')
      const next = new SessionScript('s').start()
      await store().append(next)
      await store().saveSnapshot('s', { seq: 1, version: 1, state: { of: 'the old' } }, old.events[0]!.id)
      expect(await store().loadSnapshot('s')).toBeNull()
      await store().saveSnapshot('s', { seq: 1, version: 1, state: { of: 'the new' } }, next.events[0]!.id)
      expect(await store().loadSnapshot('s')).toMatchObject({ state: { of: 'the new' } })
    })

    it('that are ahead of the log are not stored', async () => {
      const script = new SessionScript('s')
      await store().append(script.start())
      await store().saveSnapshot('s', { seq: 2, version: 1, state: {} })
      await store().saveSnapshot('nobody', { seq: 1, version: 1, state: {} })
      expect(await store().loadSnapshot('s')).toBeNull()
      expect(await store().loadSnapshot('nobody')).toBeNull()
    })
  })

  describe('the doorbell', () => {
    it('rings once for each append, after its commit, and not for a conflict', async () => {
      const notices: AppendNotice[] = []
      const readable: Promise<boolean>[] = []
      const stop = store().onAppend((notice) => {
        notices.push(notice)
        const { sessionId, eventId } = notice
        readable.push(
          store()
            .read({ sessionId, limit: 100 })
            .then((events) => events.some(({ id }) => id === eventId)),
        )
      })
      const [a, b] = [new SessionScript('a'), new SessionScript('b')]
      const appends = [a.start(), b.start(), b.attempt(7, text('conflict')), a.next(text('1'), text('2'))]
      await Promise.all(appends.map((append) => store().append(append)))
      const noticeOf = (index: number) => ({
        sessionId: appends[index]!.sessionId,
        eventId: appends[index]!.events.at(-1)!.id,
      })
      expect(notices.filter(({ sessionId }) => sessionId === 'a')).toEqual([noticeOf(0), noticeOf(3)])
      expect(notices.filter(({ sessionId }) => sessionId === 'b')).toEqual([noticeOf(1)])
      expect(await Promise.all(readable)).toEqual([true, true, true])
      stop()
      await store().append(a.next(text('3')))
      expect(notices).toHaveLength(3)
    })
  })

  describe('close', () => {
    it('completes earlier appends, and rejects everything after it', async () => {
      const script = new SessionScript('s')
      const pending = [script.start(), script.next(text('a'))].map((append) => store().append(append))
      const closed = store().close()
      expect(await Promise.all(pending)).toEqual([{ ok: true }, { ok: true }])
      await closed
      const late: Promise<unknown>[] = [
        store().append(script.next(text('b'))),
        store().read({ sessionId: 's', limit: 1 }),
        store().session('s'),
        store().sessions({ limit: 1 }),
        store().countSessions(),
        store().interaction('i'),
        store().interactionsOf('s', 'c'),
        store().pending({ limit: 1 }),
        store().pending({ sessionId: 's', limit: 1 }),
        store().countPending(),
        store().deadlines(),
        store().toolCall('s', 'c'),
        store().audit({ limit: 1 }),
        store().changes({ limit: 1 }),
        store().head(),
        store().kv.get('k'),
        store().kv.put('k', 1, null),
        store().kv.list(''),
        store().loadSnapshot('s'),
        store().saveSnapshot('s', { seq: 1, version: 1, state: {} }),
        store().erase('s'),
      ]
      for (const outcome of await Promise.allSettled(late)) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } })
      }
    })
  })
}
