import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Interaction, SessionEvent } from '@askback/protocol'
import { answer, eventually, failureOf, onlyPending, picks, writes, type AskingSubject } from './subject.js'

/** Sessions by name, their events, and the requests of all sessions. */
export function askingSessionsConform(subject: () => AskingSubject): void {
  const choices = ['A', 'B'] as const

  describe('a session', () => {
    it('is the same for the same name, also after a restart', async () => {
      const id = await subject().askback.session('nightly').id()
      expect(await subject().restarted().session('nightly', { title: 'Another title' }).id()).toBe(id)
      expect(await subject().askback.session('weekly').id()).not.toBe(id)
      expect((await subject().backend.log(id))[0]).toMatchObject({ agent: null, title: 'nightly' })
    })

    it('is made once, although many calls use it first', async () => {
      const session = subject().askback.session('nightly')
      const ids = await Promise.all(Array.from({ length: 5 }, () => session.id()))
      expect(new Set(ids).size).toBe(1)
    })

    it('can be one that exists, by its id', async () => {
      const id = await subject().askback.session('nightly').id()
      const asked = subject().askback.session({ id }).choose('Which?', choices, { toolCallId: 'call_1' })
      expect(await onlyPending(subject())).toMatchObject({ sessionId: id, toolCallId: 'call_1' })
      await answer(subject(), picks('A'))
      expect(await asked).toBe('A')
      const missing = subject().askback.session({ id: 'no-such-session' }).choose('Which?', choices)
      expect(await failureOf(missing)).toMatchObject({ code: 'not_found' })
    })

    it('is made again after somebody deleted it', async () => {
      const session = subject().askback.session('nightly')
      const id = await session.id()
      await subject().backend.deleteSession(id)
      const asked = session.askText('Why?')
      const { sessionId } = await answer(subject(), writes('because'))
      expect(sessionId).not.toBe(id)
      expect(await asked).toBe('because')
    })

    it('needs a name', () => {
      expect(() => subject().askback.session('')).toThrow('A session is a name or { id }.')
    })
  })

  describe('the events of a session', () => {
    it('come from the beginning, in order, and then live', async () => {
      const session = subject().askback.session('events')
      const first = session.choose('Which?', choices)
      await answer(subject(), picks('A'))
      await first
      const stopping = new AbortController()
      const events: SessionEvent[] = []
      const reading = (async () => {
        for await (const event of session.events({ signal: stopping.signal })) {
          expectTypeOf(event).toEqualTypeOf<SessionEvent>()
          events.push(event)
        }
      })()
      const second = session.choose('Which?', choices)
      await answer(subject(), picks('B'))
      await second
      const log = await subject().backend.log(await session.id())
      await eventually(() => expect(events).toEqual(log))
      stopping.abort()
      await reading
    })

    it('continue behind the last one that is known', async () => {
      const session = subject().askback.session('events')
      const asked = session.choose('Which?', choices)
      await answer(subject(), picks('A'))
      await asked
      const log = await subject().backend.log(await session.id())
      for await (const event of session.events({ after: 2 })) {
        expect(event).toEqual(log[2])
        break
      }
      const beyond = session.events({ after: 1000 })[Symbol.asyncIterator]()
      expect(await failureOf(beyond.next())).toMatchObject({ code: 'not_found' })
    })

    it('end as not found when the session is deleted', async () => {
      const session = subject().askback.session('events')
      const id = await session.id()
      const reading = failureOf(readAll(session.events()))
      await subject().backend.deleteSession(id)
      expect(await reading).toMatchObject({ code: 'not_found' })
    })

    it('end at once if the signal was aborted', async () => {
      const session = subject().askback.session('events')
      expect(await readAll(session.events({ signal: AbortSignal.abort() }))).toEqual([])
    })

    it('end as unavailable when the connection is closed', async () => {
      const session = subject().askback.session('events')
      await session.id()
      const reading = failureOf(readAll(session.events()))
      subject().askback.close()
      expect(await reading).toMatchObject({ code: 'unavailable' })
    })
  })

  it('many requests at the same time are all answered, and Node.js warns of no leak', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => {
      if (warning.name === 'MaxListenersExceededWarning') warnings.push(warning)
    }
    process.on('warning', onWarning)
    const leaving = new AbortController()
    const options = { signal: leaving.signal, cancelOn: leaving.signal }
    const session = subject().askback.session('many')
    const asked = Array.from({ length: 30 }, () => session.choose('Which?', choices, options))
    const answering = new AbortController()
    const people = (async () => {
      for await (const request of subject().person.requests({ signal: answering.signal }))
        await subject().person.respond(request, picks('B'))
    })()
    expect(await Promise.all(asked)).toEqual(asked.map(() => 'B'))
    answering.abort()
    await people
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })

  describe('the requests of all sessions', () => {
    it('are those that wait, and those that come, each once', async () => {
      const { askback, person } = subject()
      const ask = (name: string) => void failureOf(askback.session(name).choose(`${name}?`, choices))
      ask('one')
      await onlyPending(subject())
      const stopping = new AbortController()
      const seen: Interaction[] = []
      const reading = (async () => {
        for await (const request of person.requests({ signal: stopping.signal })) seen.push(request)
      })()
      await eventually(() => expect(seen).toHaveLength(1))
      ask('two')
      await eventually(() => expect(seen).toHaveLength(2))
      expect(seen.map(({ request }) => request)).toMatchObject([
        { questions: [{ question: 'one?' }] },
        { questions: [{ question: 'two?' }] },
      ])
      stopping.abort()
      await reading
    })

    it('are answered once: the second answer gets to know the first', async () => {
      const asked = subject().askback.session('one').choose('Which?', choices)
      const request = await onlyPending(subject())
      await subject().person.respond(request, picks('A'))
      expect(await failureOf(subject().person.respond(request, picks('B')))).toMatchObject({
        code: 'already_settled',
      })
      expect(await asked).toBe('A')
    })

    it('are not answered by a program that only asks', async () => {
      void failureOf(subject().askback.session('one').choose('Which?', choices))
      const request = await onlyPending(subject())
      expect(await failureOf(subject().askback.respond(request, picks('A')))).toMatchObject({
        code: 'forbidden',
      })
    })
  })
}

async function readAll<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}
