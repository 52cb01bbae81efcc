import { emptyState, fold, pendingOf, type SessionState } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import type { Store } from '../store/store.js'
import { allPages, freshStore, type CreateStore } from './fresh-store.js'
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

export function interactionContract(createStore: CreateStore): void {
  describe('interactions', () => {
    const store = freshStore(createStore)

    async function startSession(sessionId = 's'): Promise<SessionScript> {
      const script = new SessionScript(sessionId)
      await store().append(script.start())
      return script
    }

    it('equal those of the folded log at every step', async () => {
      const script = await startSession()
      const anchored = {
        turnId: 't1',
        responseId: 'r1',
        expiresAt: 5_000,
        agentId: 'a',
        anchor: 'exact' as const,
      }
      const steps = [
        script.next(text('before'), ...ask('i', anchored), text('after')),
        script.next(progress('i', ['one'])),
        script.next(progress('i', ['one', 'two']), progress('i', ['one', 'two', 'three'])),
        script.next(
          ...answer('i', {
            answer: { answers: ['x'] },
            message: 'm',
            by: { id: 'p' },
            via: 'telegram',
            updatedDigest: 'u',
          }),
        ),
        script.next(deliver('i')),
      ]
      for (const step of steps) {
        await store().append(step)
        const state = await foldOf(store(), 's')
        expect(await store().interaction('i')).toEqual(state.interactions.get('i'))
        expect((await store().pending({ limit: 10 })).items).toEqual(pendingOf(state))
      }
      expect(await store().interaction('i')).toMatchObject({
        status: 'settled',
        progress: ['one', 'two', 'three'],
        delivered: true,
      })
      expect(await store().interaction('nobody')).toBeNull()
    })

    it('may be opened, answered and claimed in one append', async () => {
      const script = await startSession()
      await store().append(script.next(...ask('i'), ...answer('i', { via: 'policy' }), deliver('i')))
      expect(await store().interaction('i')).toEqual((await foldOf(store(), 's')).interactions.get('i'))
      expect(await store().countPending()).toBe(0)
    })

    it('are pending until interaction_pending says otherwise, also without a request or with a response', async () => {
      const script = await startSession()
      const [response, closed] = answer('i')
      const steps = [script.next(...ask('i')), script.next(response), script.next(closed)]
      for (const [index, step] of steps.entries()) {
        await store().append(step)
        const state = await foldOf(store(), 's')
        expect(await store().interaction('i')).toEqual(state.interactions.get('i'))
        expect((await store().pending({ limit: 10 })).items).toEqual(pendingOf(state))
        expect(await store().countPending()).toBe(index < 2 ? 1 : 0)
      }
      await store().append(script.next(ask('j')[1]))
      expect(await store().interaction('j')).toMatchObject({ status: 'settled' })
      expect(await store().countPending()).toBe(0)
    })

    it('superseded in a log from before L2 are not pending', async () => {
      const script = await startSession()
      await store().append(script.next(...ask('z', { toolCallId: 'c', expiresAt: 5 })))
      const [superseded] = answer('z', { toolCallId: 'c', settlement: 'superseded', supersededBy: 'a' })
      await store().append(script.next(superseded, ...ask('a', { toolCallId: 'c' })))
      const { interactions } = await foldOf(store(), 's')
      expect(await store().interactionsOf('s', 'c')).toEqual([interactions.get('z'), interactions.get('a')])
      expect((await store().pending({ limit: 9 })).items).toEqual([interactions.get('a')])
      expect(await store().deadlines()).toEqual([])
    })

    it('of one tool call are listed oldest first, including superseded ones', async () => {
      const script = await startSession()
      const toolCallId = 'c\u0000'
      await store().append(script.next(...ask('z', { toolCallId }), ...ask('other')))
      const superseded = answer('z', { toolCallId, settlement: 'superseded', supersededBy: 'a' })
      await store().append(
        script.next(...superseded, ...ask('a', { toolCallId, errors: { field: 'too short' } })),
      )
      const { interactions } = await foldOf(store(), 's')
      expect(await store().interactionsOf('s', toolCallId)).toEqual([
        interactions.get('z'),
        interactions.get('a'),
      ])
      expect(interactions.get('z')).toMatchObject({ supersededBy: 'a' })
      expect(await store().interactionsOf('s', 'c')).toEqual([])
      expect(await store().interactionsOf('nobody', toolCallId)).toEqual([])
    })

    it('that are pending are listed oldest first, over all sessions or in one', async () => {
      const [a, b] = [await startSession('a'), await startSession('b')]
      await store().append(a.next(...ask('z'), ...ask('y')))
      await store().append(b.next(...ask('x')))
      await store().append(a.next(...ask('w')))
      await store().append(a.next(...answer('y')))
      const pending = (limit: number, sessionId?: string) =>
        allPages((after) =>
          store().pending({
            limit,
            ...(after !== undefined && { after }),
            ...(sessionId !== undefined && { sessionId }),
          }),
        ).then((items) => items.map(({ interactionId }) => interactionId))
      for (const limit of [1, 2, 9]) {
        expect(await pending(limit)).toEqual(['z', 'x', 'w'])
        expect(await pending(limit, 'a')).toEqual(['z', 'w'])
        expect(await pending(limit, 'b')).toEqual(['x'])
        expect(await pending(limit, 'nobody')).toEqual([])
      }
      expect(await store().countPending()).toBe(3)
      const counts = new Map([
        ['a', 2],
        ['b', 1],
      ])
      expect(await store().pendingCounts()).toEqual(counts)
    })

    it('that are pending are counted by session, whatever its id is', async () => {
      expect(await store().pendingCounts()).toEqual(new Map())
      const [odd, idle] = [await startSession('odd\u0000 id'), await startSession('idle')]
      await store().append(odd.next(...ask('i'), ...ask('j')))
      await store().append(idle.next(...ask('k')))
      await store().append(idle.next(...answer('k')))
      expect(await store().pendingCounts()).toEqual(new Map([['odd\u0000 id', 2]]))
    })

    it('can be read in pages while some are settled and others opened', async () => {
      const script = await startSession()
      const ids = Array.from({ length: 100 }, (_, index) => `i${String(index).padStart(2, '0')}`)
      for (const id of ids) await store().append(script.next(...ask(id)))
      const first = await store().pending({ limit: 40 })
      expect(first.items.map(({ interactionId }) => interactionId)).toEqual(ids.slice(0, 40))
      for (const id of ids.slice(10, 60)) await store().append(script.next(...answer(id)))
      await store().append(script.next(...ask('new')))
      const rest = await store().pending({ after: first.next!, limit: 100 })
      expect(rest.items.map(({ interactionId }) => interactionId)).toEqual([...ids.slice(60), 'new'])
      expect(rest.next).toBeNull()
      expect(await store().countPending()).toBe(51)
    })

    it('have deadlines while they are pending', async () => {
      const [a, b] = [await startSession('a\u0000'), await startSession('b')]
      await store().append(
        a.next(...ask('1', { expiresAt: 10 }), ...ask('2'), ...ask('3', { expiresAt: 5.5 })),
      )
      await store().append(b.next(...ask('4', { expiresAt: 7 }), ...ask('5', { expiresAt: 8 })))
      // Nothing happens at this one's deadline.
      await store().append(b.next(...ask('6', { expiresAt: 9, onTimeout: 'keep' })))
      await store().append(b.next(...answer('4')))
      const deadlines = await store().deadlines()
      expect(deadlines.toSorted((one, other) => one.expiresAt - other.expiresAt)).toEqual([
        { sessionId: 'a\u0000', interactionId: '3', expiresAt: 5.5 },
        { sessionId: 'b', interactionId: '5', expiresAt: 8 },
        { sessionId: 'a\u0000', interactionId: '1', expiresAt: 10 },
      ])
    })

    it('are no tool calls, which end once', async () => {
      const [a, b] = [await startSession('a'), await startSession('b')]
      expect(await store().toolCall('a', 'c')).toBeNull()
      await store().append(a.next(toolCall('c\u0000'), toolCall('c'), ...ask('i', { toolCallId: 'asked' })))
      await store().append(b.next(toolResult('c')))
      expect(await store().toolCall('a', 'c')).toEqual({ ended: false })
      await store().append(a.next(toolResult('c'), toolCall('c')))
      expect(await store().toolCall('a', 'c')).toEqual({ ended: true })
      expect(await store().toolCall('a', 'c\u0000')).toEqual({ ended: false })
      expect(await store().toolCall('a', 'asked')).toBeNull()
      expect(await store().toolCall('b', 'c')).toBeNull()
      expect(await store().toolCall('nobody', 'c')).toBeNull()
    })
  })
}

async function foldOf(store: Store, sessionId: string): Promise<SessionState> {
  return fold(emptyState(sessionId), await store.read({ sessionId, limit: Infinity }))
}
