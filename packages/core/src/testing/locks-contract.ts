import { describe, expect, it } from 'vitest'
import { freshStore, type CreateStore } from './fresh-store.js'
import { SessionScript, text } from './session-script.js'

const MINUTE = 60_000

/** For stores that several processes may write to. */
export function locksContract(createStore: CreateStore): void {
  describe('the lock of a session', () => {
    const store = freshStore(createStore)

    it('keeps the appends of others out until its owner has appended', async () => {
      const script = new SessionScript('s')
      await store().append(script.start())
      expect(await store().locks!.acquire('s', 'me', MINUTE)).toBe(true)
      const attempt = script.attempt(1, text('of another'))
      expect(await store().append(attempt)).toEqual({ ok: false, conflict: 'locked' })
      expect(await store().append({ ...attempt, lockOwner: 'you' })).toEqual({
        ok: false,
        conflict: 'locked',
      })
      expect(await store().append({ ...script.next(text('mine')), lockOwner: 'me' })).toEqual({ ok: true })
      expect(await store().append(script.next(text('next')))).toEqual({ ok: true })
    })

    it('is for one session, and for one owner at a time', async () => {
      const [one, other] = [new SessionScript('s'), new SessionScript('t')]
      await store().append(one.start())
      expect(await store().locks!.acquire('s', 'me', MINUTE)).toBe(true)
      expect(await store().locks!.acquire('s', 'you', MINUTE)).toBe(false)
      expect(await store().locks!.acquire('s', 'me', MINUTE)).toBe(true)
      expect(await store().append(other.start())).toEqual({ ok: true })
    })

    it('can be given up, by its owner only', async () => {
      const script = new SessionScript('s')
      await store().append(script.start())
      await store().locks!.acquire('s', 'me', MINUTE)
      await store().locks!.release('s', 'you')
      expect(await store().locks!.acquire('s', 'you', MINUTE)).toBe(false)
      await store().locks!.release('s', 'me')
      expect(await store().append(script.next(text('free')))).toEqual({ ok: true })
    })

    it('ends by itself', async () => {
      const script = new SessionScript('s')
      await store().append(script.start())
      await store().locks!.acquire('s', 'gone', 20)
      const next = script.next(text('free'))
      await expect.poll(() => store().append(next)).toEqual({ ok: true })
      await store().locks!.acquire('s', 'gone', 20)
      await expect.poll(() => store().locks!.acquire('s', 'you', MINUTE)).toBe(true)
    })
  })
}
