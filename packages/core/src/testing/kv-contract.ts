import { describe, expect, it } from 'vitest'
import { freshStore, type CreateStore } from './fresh-store.js'
import { SessionScript, text } from './session-script.js'

export function kvContract(createStore: CreateStore): void {
  describe('kv', () => {
    const store = freshStore(createStore)

    it('writes a key only if it has the expected version', async () => {
      const { kv } = store()
      expect(await kv.get('k')).toBeNull()
      expect(await kv.put('k', { a: [1, 'é\u0000'] }, 7)).toBe(false)
      expect(await kv.put('k', { a: [1, 'é\u0000'] }, null)).toBe(true)
      expect(await kv.put('k', 'again', null)).toBe(false)
      const first = await kv.get('k')
      expect(first).toMatchObject({ key: 'k', value: { a: [1, 'é\u0000'] } })
      expect(await kv.put('k', false, first!.version)).toBe(true)
      expect(await kv.put('k', 'stale', first!.version)).toBe(false)
      expect(await kv.get('k')).toMatchObject({ value: false })
    })

    it('exactly one of many writes over the same version succeeds', async () => {
      const { kv } = store()
      const results = await Promise.all(Array.from({ length: 10 }, (_, index) => kv.put('k', index, null)))
      expect(results.filter(Boolean)).toHaveLength(1)
      expect((await kv.get('k'))!.value).toBe(results.indexOf(true))
    })

    it('deletes a key, and never uses its versions again', async () => {
      const { kv } = store()
      await kv.put('k', 1, null)
      const old = (await kv.get('k'))!.version
      expect(await kv.put('k', null, old)).toBe(true)
      expect(await kv.get('k')).toBeNull()
      expect(await kv.put('k', 2, old)).toBe(false)
      expect(await kv.put('k', 2, null)).toBe(true)
      expect((await kv.get('k'))!.version).not.toBe(old)
      expect(await kv.put('gone', null, null)).toBe(true)
      expect(await kv.get('gone')).toBeNull()
    })

    it('lists by prefix in the order of the keys', async () => {
      const { kv } = store()
      for (const key of ['b/2', 'b', 'a/1', 'b/10', 'b/\u0000', 'b0', 'b/é']) await kv.put(key, key, null)
      const keys = async (prefix: string) => (await kv.list(prefix)).map(({ key }) => key)
      expect(await keys('b/')).toEqual(['b/\u0000', 'b/10', 'b/2', 'b/é'])
      expect(await keys('')).toEqual(['a/1', 'b', 'b/\u0000', 'b/10', 'b/2', 'b/é', 'b0'])
      expect(await keys('c')).toEqual([])
      expect(await kv.list('b/1')).toEqual([await kv.get('b/10')])
    })

    it('returns copies', async () => {
      const { kv } = store()
      await kv.put('k', { list: [1] }, null)
      const { value } = (await kv.get('k'))!
      Object.assign(value as object, { list: 'changed' })
      expect((await kv.get('k'))!.value).toEqual({ list: [1] })
    })

    it('is written with an append, or not at all', async () => {
      const script = new SessionScript('s')
      await store().kv.put('old', 1, null)
      const first = script.start()
      expect(
        await store().append({
          ...first,
          kv: [
            { key: 'new', value: { seen: true }, ifAbsent: true },
            { key: 'old', value: 2 },
            { key: 'none', value: null },
          ],
        }),
      ).toEqual({ ok: true })
      expect((await store().kv.list('')).map(({ key, value }) => [key, value])).toEqual([
        ['new', { seen: true }],
        ['old', 2],
      ])
      const conflicting = script.attempt(1, text('conflict'))
      expect(
        await store().append({
          ...conflicting,
          kv: [
            { key: 'other', value: 1 },
            { key: 'new', value: 2, ifAbsent: true },
          ],
        }),
      ).toEqual({ ok: false, conflict: 'kv' })
      expect(
        await store().append({ ...script.attempt(9, text('ahead')), kv: [{ key: 'other', value: 1 }] }),
      ).toEqual({
        ok: false,
        conflict: 'seq',
      })
      expect(await store().kv.get('other')).toBeNull()
      expect((await store().kv.get('new'))!.value).toEqual({ seen: true })
      expect(await store().read({ sessionId: 's', limit: 10 })).toEqual(first.events)
      expect(await store().append({ ...script.next(text('x')), kv: [{ key: 'new', value: null }] })).toEqual({
        ok: true,
      })
      expect(await store().kv.get('new')).toBeNull()
    })

    it('one of the appends that create a key at once succeeds', async () => {
      const scripts = ['a', 'b', 'c'].map((id) => new SessionScript(id))
      const results = await Promise.all(
        scripts.map((script) =>
          store().append({ ...script.start(), kv: [{ key: 'k', value: script.sessionId, ifAbsent: true }] }),
        ),
      )
      expect(results.filter(({ ok }) => ok)).toHaveLength(1)
      const winner = scripts[results.findIndex(({ ok }) => ok)]!.sessionId
      expect(await store().kv.get('k')).toMatchObject({ value: winner })
      expect((await store().sessions({ limit: 10 })).items).toMatchObject([{ id: winner }])
    })
  })
}
