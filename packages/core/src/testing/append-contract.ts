import { describe, expect, it } from 'vitest'
import { freshStore, type CreateStore } from './fresh-store.js'
import { ask, SessionScript, text } from './session-script.js'

export function appendContract(createStore: CreateStore): void {
  describe('append', () => {
    const store = freshStore(createStore)

    it('stores events as they were given, in order', async () => {
      const script = new SessionScript('s')
      const first = script.start({ title: 'A title\u0000with a NUL', cwd: '/x' })
      const second = script.next(text('one'), text('two \u0000 \u{1f600} é'), ...ask('i'))
      expect(await store().append(first)).toEqual({ ok: true })
      expect(await store().append(second)).toEqual({ ok: true })
      expect(await store().read({ sessionId: 's', limit: 100 })).toEqual([...first.events, ...second.events])
    })

    it.each([
      ['behind', 1],
      ['ahead of', 3],
      ['at the beginning of', 0],
    ])('returns a conflict for an append decided on a seq %s the log', async (_where, expectedSeq) => {
      const script = new SessionScript('s')
      const first = script.start()
      const second = script.next(text('one'))
      await store().append(first)
      await store().append(second)
      const attempt =
        expectedSeq === 0 ? new SessionScript('s').start() : script.attempt(expectedSeq, text('late'))
      expect(await store().append(attempt)).toEqual({ ok: false, conflict: 'seq' })
      expect(await store().read({ sessionId: 's', limit: 100 })).toEqual([...first.events, ...second.events])
    })

    it('returns a conflict for a session that does not exist', async () => {
      const attempt = new SessionScript('s').attempt(3, text('late'))
      expect(await store().append(attempt)).toEqual({ ok: false, conflict: 'seq' })
      expect(await store().session('s')).toBeNull()
      expect(await store().changes({ limit: 10 })).toEqual([])
    })

    it('lets exactly one of many appends on the same seq win', async () => {
      const script = new SessionScript('s')
      await store().append(script.start())
      const attempts = Array.from({ length: 20 }, (_, index) => script.attempt(1, text(`answer ${index}`)))
      const results = await Promise.all(attempts.map((attempt) => store().append(attempt)))
      const winners = attempts.filter((_, index) => results[index]!.ok)
      expect(winners).toHaveLength(1)
      expect(await store().read({ sessionId: 's', after: 1, limit: 100 })).toEqual(winners[0]!.events)
    })

    it('commits a chain of appends without awaiting each', async () => {
      const script = new SessionScript('s')
      const chain = [
        script.start(),
        script.next(text('a'), text('b')),
        script.next(text('c')),
        script.next(...ask('i')),
      ]
      const results = await Promise.all(chain.map((append) => store().append(append)))
      expect(results).toEqual(chain.map(() => ({ ok: true })))
      const events = await store().read({ sessionId: 's', limit: 100 })
      expect(events).toEqual(chain.flatMap((append) => append.events))
      expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
    })

    it('a conflict fails only that append and those that were decided on top of it', async () => {
      const scripts = ['a', 'b', 'c'].map((id) => new SessionScript(id))
      await Promise.all(scripts.map((script) => store().append(script.start())))
      const [a, b, c] = scripts as [SessionScript, SessionScript, SessionScript]
      const results = await Promise.all([
        store().append(a.next(text('1'))),
        store().append(b.attempt(5, text('ahead'))),
        store().append(b.attempt(6, text('chained on it'))),
        store().append(c.next(text('1'))),
        store().append(a.next(text('2'))),
        store().append(b.next(text('after all'))),
      ])
      expect(results.map(({ ok }) => ok)).toEqual([true, false, false, true, true, true])
      expect(await store().read({ sessionId: 'b', after: 1, limit: 10 })).toMatchObject([
        { seq: 2, text: 'after all' },
      ])
    })

    it.each([
      ['no events', { sessionId: 's', expectedSeq: 0, events: [] }],
      ['a gap', { ...new SessionScript('s').attempt(0, text('x')), expectedSeq: 3 }],
      ['an event of another session', { ...new SessionScript('t').start(), sessionId: 's' }],
      ['a log that does not begin with session_started', new SessionScript('s').attempt(0, text('x'))],
    ])('throws for %s, a mistake of the caller', async (_what, append) => {
      await expect(store().append(append)).rejects.toMatchObject({ code: 'internal' })
      expect(await store().read({ sessionId: 's', limit: 10 })).toEqual([])
    })

    it('returns a conflict if the key of the fence has another version or none', async () => {
      const script = new SessionScript('s')
      await store().append(script.start())
      await store().kv.put('lease', 'here', null)
      const { version } = (await store().kv.get('lease'))!
      const fence = { key: 'lease', version }
      expect(await store().append({ ...script.next(text('owner')), fence })).toEqual({ ok: true })
      const late = { ...script.attempt(2, text('late')), kv: [{ key: 'k', value: 1 }], fence }
      const [, result] = await Promise.all([store().kv.put('lease', 'there', version), store().append(late)])
      expect(result).toEqual({ ok: false, conflict: 'fence' })
      expect(await store().kv.get('k')).toBeNull()
      await store().kv.put('lease', null, (await store().kv.get('lease'))!.version)
      expect(await store().append({ ...script.attempt(2, text('late')), fence })).toEqual({
        ok: false,
        conflict: 'fence',
      })
      expect(await store().append(script.next(text('a person’s')))).toEqual({ ok: true })
      expect(await store().read({ sessionId: 's', limit: 10 })).toHaveLength(3)
    })

    it('does not mix the events of many sessions', async () => {
      const scripts = Array.from({ length: 50 }, (_, index) => new SessionScript(`s${index}`))
      await Promise.all(
        scripts.flatMap((script) => [
          store().append(script.start()),
          store().append(script.next(text(script.sessionId))),
        ]),
      )
      for (const { sessionId } of scripts) {
        const events = await store().read({ sessionId, limit: 10 })
        expect(events).toMatchObject([{ seq: 1 }, { seq: 2, text: sessionId }])
      }
    })
  })
}

const MINUTE_MS = 60_000

/** For stores to which several processes append. */
export function locksContract(createStore: CreateStore): void {
  describe('the lock of a session', () => {
    const store = freshStore(createStore)

    it('makes appends of others conflicts until its owner has appended', async () => {
      const script = new SessionScript('s')
      await store().append(script.start())
      expect(await store().locks!.acquire('s', 'me', MINUTE_MS)).toBe(true)
      const attempt = script.attempt(1, text('of another'))
      expect(await store().append(attempt)).toEqual({ ok: false, conflict: 'locked' })
      expect(await store().append({ ...attempt, lockOwner: 'you' })).toEqual({
        ok: false,
        conflict: 'locked',
      })
      expect(await store().append({ ...script.next(text('mine')), lockOwner: 'me' })).toEqual({ ok: true })
      expect(await store().append(script.next(text('next')))).toEqual({ ok: true })
    })

    it('belongs to one session, and to one owner at a time', async () => {
      const [one, other] = [new SessionScript('s'), new SessionScript('t')]
      await store().append(one.start())
      expect(await store().locks!.acquire('s', 'me', MINUTE_MS)).toBe(true)
      expect(await store().locks!.acquire('s', 'you', MINUTE_MS)).toBe(false)
      expect(await store().locks!.acquire('s', 'me', MINUTE_MS)).toBe(true)
      expect(await store().append(other.start())).toEqual({ ok: true })
    })

    it('can be released by its owner only', async () => {
      const script = new SessionScript('s')
      await store().append(script.start())
      await store().locks!.acquire('s', 'me', MINUTE_MS)
      await store().locks!.release('s', 'you')
      expect(await store().locks!.acquire('s', 'you', MINUTE_MS)).toBe(false)
      await store().locks!.release('s', 'me')
      expect(await store().append(script.next(text('free')))).toEqual({ ok: true })
    })

    it('expires', async () => {
      const script = new SessionScript('s')
      await store().append(script.start())
      await store().locks!.acquire('s', 'gone', 20)
      const next = script.next(text('free'))
      await expect.poll(() => store().append(next)).toEqual({ ok: true })
      await store().locks!.acquire('s', 'gone', 20)
      await expect.poll(() => store().locks!.acquire('s', 'you', MINUTE_MS)).toBe(true)
    })
  })
}
