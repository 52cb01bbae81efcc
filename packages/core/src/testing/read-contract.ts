import type { AuditAct, AuditRow } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { tagsKey } from '../store/records.js'
import { allPages, freshStore, type CreateStore } from './fresh-store.js'
import { answer, ask, deliver, SessionScript, text } from './session-script.js'

export function readContract(createStore: CreateStore): void {
  const store = freshStore(createStore)

  /** Ten events in appends of 1, 4, 3 and 2. */
  async function tenEvents(sessionId = 's'): Promise<SessionScript> {
    const script = new SessionScript(sessionId)
    await store().append(script.start())
    for (const size of [4, 3, 2]) {
      await store().append(
        script.next(...Array.from({ length: size }, (_, index) => text(`${size}.${index}`))),
      )
    }
    return script
  }

  describe('read', () => {
    it.each([
      { query: { limit: 100 }, seqs: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
      { query: { limit: 3 }, seqs: [1, 2, 3] },
      { query: { after: 2, limit: 2 }, seqs: [3, 4] },
      { query: { after: 4, limit: 4 }, seqs: [5, 6, 7, 8] },
      { query: { after: 9, limit: 5 }, seqs: [10] },
      { query: { after: 10, limit: 5 }, seqs: [] },
      { query: { after: 99, limit: 5 }, seqs: [] },
      { query: { before: 11, limit: 3 }, seqs: [8, 9, 10] },
      { query: { before: 99, limit: 3 }, seqs: [8, 9, 10] },
      { query: { before: 7, limit: 3 }, seqs: [4, 5, 6] },
      { query: { before: 3, limit: 100 }, seqs: [1, 2] },
      { query: { before: 1, limit: 3 }, seqs: [] },
      { query: { after: 4, before: 8, limit: 100 }, seqs: [5, 6, 7] },
      { query: { after: 4, before: 8, limit: 2 }, seqs: [6, 7] },
    ])('of $query returns $seqs', async ({ query, seqs }) => {
      await tenEvents()
      const events = await store().read({ sessionId: 's', ...query })
      expect(events.map(({ seq }) => seq)).toEqual(seqs)
    })

    it('of a session that does not exist is empty', async () => {
      expect(await store().read({ sessionId: 'nobody', limit: 10 })).toEqual([])
    })
  })

  describe('sessions', () => {
    it('are described by their log', async () => {
      const script = new SessionScript('s')
      const first = script.start({ agent: 'demo', title: 'T\u0000', cwd: '/c', permissionMode: 'plan' })
      await store().append(first)
      const created = {
        id: 's',
        agent: 'demo',
        title: 'T\u0000',
        cwd: '/c',
        status: 'idle',
        permissionMode: 'plan',
        createdAt: first.events[0]!.at,
      }
      expect(await store().session('s')).toEqual({ ...created, updatedAt: first.events[0]!.at })
      const changed = script.next(
        text('x'),
        { type: 'session_status', status: 'running', permissionMode: 'acceptEdits' },
        text('y'),
      )
      await store().append(changed)
      expect(await store().session('s')).toEqual({
        ...created,
        status: 'running',
        permissionMode: 'acceptEdits',
        updatedAt: changed.events[2]!.at,
      })
      expect(await store().session('nobody')).toBeNull()
    })

    it('have the tags that their key holds, as long as the session exists', async () => {
      const script = new SessionScript('s')
      const tags = { tenant: 'acme', 'a.b': 'T\u0000' }
      await store().append({ ...script.start({ tags }), kv: [{ key: tagsKey('s'), value: tags }] })
      await store().append(new SessionScript('other').start())
      expect(await store().session('s')).toMatchObject({ id: 's', tags })
      expect((await store().sessions({ limit: 9 })).items.map((row) => row.tags)).toEqual([undefined, tags])
      const retagged = { tenant: 'globex' }
      const changed = script.next({ type: 'session_tags', tags: retagged })
      await store().append({ ...changed, kv: [{ key: tagsKey('s'), value: retagged }] })
      expect((await store().session('s'))?.tags).toEqual(retagged)
      await store().append({
        ...script.next({ type: 'session_tags', tags: {} }),
        kv: [{ key: tagsKey('s'), value: null }],
      })
      expect(await store().session('s')).not.toHaveProperty('tags')
      await store().append({
        ...script.next({ type: 'session_tags', tags }),
        kv: [{ key: tagsKey('s'), value: tags }],
      })
      await store().erase('s')
      await store().append(new SessionScript('s').start())
      expect(await store().session('s')).not.toHaveProperty('tags')
    })

    it('are listed newest first, in pages, and can be selected by their last append', async () => {
      const scripts = ['a', 'b', 'c', 'd', 'e'].map((id) => new SessionScript(id))
      for (const script of scripts) await store().append(script.start())
      const late = scripts[1]!.next(text('late'))
      await store().append(late)
      const ids = (limit: number, updatedBefore?: number) =>
        allPages((after) =>
          store().sessions({
            limit,
            ...(after !== undefined && { after }),
            ...(updatedBefore !== undefined && { updatedBefore }),
          }),
        ).then((rows) => rows.map(({ id }) => id))
      for (const limit of [1, 2, 5, 9]) expect(await ids(limit)).toEqual(['e', 'd', 'c', 'b', 'a'])
      expect(await ids(2, late.events[0]!.at)).toEqual(['e', 'd', 'c', 'a'])
      expect(await ids(2, late.events[0]!.at + 1)).toEqual(['e', 'd', 'c', 'b', 'a'])
      expect(await store().countSessions()).toBe(5)
    })
  })

  describe('changes', () => {
    it('reject an invalid cursor, as all lists do', async () => {
      const broken = { after: 'x', limit: 10 }
      for (const read of ['pending', 'sessions', 'audit', 'changes'] as const) {
        await expect(store()[read](broken)).rejects.toMatchObject({ code: 'invalid_request' })
      }
    })

    it('are listed in commit order over all sessions, after any cursor', async () => {
      const [a, b] = [new SessionScript('a'), new SessionScript('b')]
      const appends = [
        a.start(),
        b.start(),
        a.next(text('1'), text('2')),
        b.next(text('3')),
        a.next(text('4')),
      ]
      for (const append of appends) await store().append(append)
      const expected = appends.map(({ sessionId, events }) => ({ sessionId, events }))
      const all = await store().changes({ limit: 100 })
      expect(all.map(({ sessionId, events }) => ({ sessionId, events }))).toEqual(expected)
      for (const [index, { cursor }] of all.entries()) {
        expect(await store().changes({ after: cursor, limit: 100 })).toEqual(all.slice(index + 1))
        expect(await store().changes({ after: cursor, limit: 2 })).toEqual(all.slice(index + 1, index + 3))
      }
    })

    it('after the head are those of later appends', async () => {
      const beginning = await store().head()
      const script = await tenEvents()
      const head = await store().head()
      expect(await store().changes({ after: beginning, limit: 100 })).toHaveLength(4)
      expect(await store().changes({ after: head, limit: 100 })).toEqual([])
      const later = script.next(text('later'))
      await store().append(later)
      expect(await store().changes({ after: head, limit: 100 })).toMatchObject([{ events: later.events }])
    })
  })

  describe('audit', () => {
    it('accepts rows of erased sessions, in the order in which they are added', async () => {
      const script = new SessionScript('s')
      await store().append(script.start())
      await store().append(script.next(...ask('i'), ...answer('i')))
      const [row] = (await store().audit({ limit: 10 })).items
      const added = ['a', 'b'].map((interactionId) => ({ ...row!, sessionId: 'g\u0000', interactionId }))
      await store().addAudit(added)
      await store().append(script.next(...ask('j'), ...answer('j')))
      const { items } = await store().audit({ limit: 10 })
      expect(decidedIds(items)).toEqual(['i', 'a', 'b', 'j'])
      expect(items.slice(1, 3)).toEqual(added)
    })

    it('has no row for a copy of an interaction of another session', async () => {
      const script = new SessionScript('s')
      await store().append(script.start())
      await store().append(script.next(...ask('i'), ...answer('i')))
      await store().append(
        script.next(...ask('c', { copyOf: 'i' }), ...answer('c', { copyOf: 'i' }), deliver('c')),
      )
      expect(await store().interaction('c')).toMatchObject({ settlement: 'answered', copyOf: 'i' })
      const { items } = await store().audit({ limit: 10 })
      expect(decidedIds(items)).toEqual(['i'])
    })

    it('has a row for each act in a log, in commit order with the decisions', async () => {
      const [s, t] = [new SessionScript('s'), new SessionScript('t')]
      const who = { by: { id: 'p', name: 'Pat' }, via: 'web' } as const
      const status = { type: 'session_status', status: 'idle' } as const
      await store().append(s.start({ permissionMode: 'acceptEdits', ...who }))
      await store().append(t.start({ permissionMode: 'default', ...who }))
      await store().append(s.next({ ...status, permissionMode: 'bypassPermissions', ...who }))
      await store().append(t.next({ ...status, status: 'waiting', permissionMode: 'default' }))
      await store().append(t.next(...ask('i'), ...answer('i', { ...who, ruleId: 'rule \u0000' })))
      await store().append(s.next({ ...status, status: 'ended', permissionMode: 'default', ...who }))
      const rows = (await store().audit({ limit: 100 })).items
      const at = expect.any(Number) as number
      expect(rows).toEqual([
        { act: 'permission_mode', at, sessionId: 's', subject: 'acceptEdits', ...who },
        {
          act: 'permission_mode',
          at,
          sessionId: 's',
          subject: 'bypassPermissions',
          ...who,
        },
        expect.objectContaining({ interactionId: 'i', ...who }),
        { act: 'rule_created', at, sessionId: 't', subject: 'rule \u0000', ...who },
        { act: 'session_deleted', at, sessionId: 's', ...who },
      ])
      await store().erase('s')
      await store().erase('t')
      expect((await store().audit({ limit: 100 })).items).toEqual(rows)
      const paged = await allPages((after) =>
        store().audit({ limit: 2, ...(after !== undefined && { after }) }),
      )
      expect(paged).toEqual(rows)
    })

    it('has a row for a key that was written, and none for a key that was not', async () => {
      const { kv } = store()
      const act = (subject: string): AuditAct => ({
        at: 5,
        act: 'token_created',
        by: { id: 'p' },
        via: 'cli',
        subject,
      })
      const script = new SessionScript('s')
      await store().append(script.start())
      await store().append(script.next(...ask('i'), ...answer('i')))
      expect(await kv.put('k', 1, null, act('made'))).toBe(true)
      expect(await kv.put('k', 2, null, act('not made'))).toBe(false)
      const { version } = (await kv.get('k'))!
      expect(await kv.put('k', 3, version, act('changed \u0000'))).toBe(true)
      expect(await kv.put('k', null, version, act('not deleted'))).toBe(false)
      await store().append(script.next(...ask('j'), ...answer('j')))
      expect(await kv.put('k', null, (await kv.get('k'))!.version, act('deleted'))).toBe(true)
      const { items } = await store().audit({ limit: 100 })
      expect(items.map((row) => ('act' in row ? row.subject : row.interactionId))).toEqual([
        'i',
        'made',
        'changed \u0000',
        'j',
        'deleted',
      ])
      expect(items[1]).toEqual(act('made'))
    })

    it('has every settlement in commit order, in pages', async () => {
      const [a, b] = [new SessionScript('a'), new SessionScript('b')]
      await store().append(a.start())
      await store().append(b.start())
      await store().append(a.next(...ask('1'), ...ask('2')))
      await store().append(b.next(...ask('3')))
      const by = { id: 'p', name: 'Pat' }
      await store().append(
        a.next(...answer('2', { by, via: 'web', message: 'because \u0000', answer: { secret: 1 } })),
      )
      await store().append(b.next(...answer('3', { settlement: 'timed_out' })))
      const last = a.next(...answer('1', { settlement: 'denied', by, via: 'cli' }))
      await store().append(last)
      const rows = await store().audit({ limit: 100 })
      expect(rows).toMatchObject({
        items: [
          {
            interactionId: '2',
            sessionId: 'a',
            settlement: 'answered',
            by,
            via: 'web',
            message: 'because \u0000',
          },
          { interactionId: '3', sessionId: 'b', settlement: 'timed_out' },
          { interactionId: '1', sessionId: 'a', settlement: 'denied', by, via: 'cli' },
        ],
        next: null,
      })
      expect(rows.items[2]).toEqual({
        at: last.events[0]!.at,
        sessionId: 'a',
        interactionId: '1',
        toolCallId: 'call-1',
        toolName: 'Ask',
        kind: 'question',
        settlement: 'denied',
        by,
        via: 'cli',
        digest: 'digest of 1',
      })
      for (const limit of [1, 2, 3]) {
        const paged = await allPages((after) =>
          store().audit({ limit, ...(after !== undefined && { after }) }),
        )
        expect(paged).toEqual(rows.items)
      }
    })
  })
}

function decidedIds(rows: AuditRow[]): string[] {
  return rows.flatMap((row) => ('act' in row ? [] : [row.interactionId]))
}
