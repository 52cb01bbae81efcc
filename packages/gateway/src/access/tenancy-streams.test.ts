import type { Session, SessionEvent } from '@askback/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSse, type SseClient } from '../streams/sse-client.test.helper.js'
import { wsClient } from '../streams/ws-client.test.helper.js'
import { Api, approval, question, startTestGateway, type TestGateway } from '../testing/index.js'
import type { AccessRequest, AuthenticatedActor } from './embedder.js'

interface Member extends AuthenticatedActor {
  tenant: string
}
const members: Record<string, Member> = {
  ann: { id: 'ann', role: 'person', tenant: 'acme', tags: { tenant: 'acme' } },
  reader: { id: 'reader', role: 'person', tenant: 'acme' },
  eve: { id: 'eve', role: 'person', tenant: 'globex', tags: { tenant: 'globex' } },
}

let gateway: TestGateway
let port: number
/** How `authorize` answers: at once, or later. */
let pause: () => Promise<void> | void
beforeEach(async () => {
  pause = () => undefined
  gateway = await startTestGateway({
    authenticate: ({ headers }: { headers: Record<string, string | undefined> }) =>
      members[headers['x-member'] ?? ''] ?? null,
    authorize: async ({ id, tenant }: Member, { session, action }: AccessRequest) => {
      await pause()
      return session?.tags.tenant === tenant && (id !== 'reader' || action === 'read')
    },
  })
  port = Number(new URL(gateway.url).port)
})
afterEach(() => gateway.close())

const as = (name: string) => ({ 'x-member': name })
const desk = () => gateway.host.desk
const move = (id: string, tenant: string) => desk().setTags(id, { tenant })
const say = (sessionId: string, text: string) =>
  desk().report({ sessionId, events: [{ type: 'text', blockId: text, text }] })

async function sessionOf(name: string): Promise<string> {
  const api = new Api(gateway, null, as(name))
  return (await api.post<{ session: Session }>('/api/sessions', { agent: null })).body.session.id
}

const eventsIn = ({ messages }: SseClient) =>
  messages.flatMap(({ event, data }) => (event === undefined ? [] : [{ event, data: data as SessionEvent }]))

describe('the stream of a session', () => {
  it('is 404 for who may not read it, and over a WebSocket not_found', async () => {
    const id = await sessionOf('ann')
    expect((await openSse(port, `/api/sessions/${id}/events`, as('eve'))).response.statusCode).toBe(404)
    const socket = await wsClient(port, as('eve'))
    expect(await socket.ask({ op: 'subscribe', sessionId: id, after: 0 })).toMatchObject({
      ok: false,
      error: { code: 'not_found', message: `There is no session ${id}.` },
    })
    expect(socket.frames).toHaveLength(1)
  })

  it('ends before the tags that give the session away, in the middle of a flood of events', async () => {
    pause = () => new Promise((resolve) => setImmediate(resolve))
    const id = await sessionOf('ann')
    const stream = await openSse(port, `/api/sessions/${id}/events`, as('ann'))
    const late = await openSse(port, `/api/sessions/${id}/events?after=0`, as('reader'))
    const socket = await wsClient(port, as('ann'))
    expect(await socket.ask({ op: 'subscribe', sessionId: id, after: 0 })).toMatchObject({ ok: true })
    await stream.take(1)
    const writes: Promise<unknown>[] = []
    for (let index = 0; index < 50; index++) writes.push(say(id, `before ${index}`))
    writes.push(move(id, 'globex'))
    for (let index = 0; index < 50; index++) writes.push(say(id, `after ${index}`))
    await Promise.all(writes)
    await Promise.all([stream.ended, late.ended])
    const log = await gateway.store.read({ sessionId: id, limit: 1000 })
    const tagged = log.findIndex(({ type }) => type === 'session_tags')
    for (const client of [stream, late])
      expect(eventsIn(client).map(({ data }) => data.seq)).toEqual(log.slice(0, tagged).map(({ seq }) => seq))
    await expect.poll(() => socket.frames.at(-1)).toEqual({ op: 'resync', sessionId: id })
    const received = socket.frames.filter(({ op }) => op === 'event')
    expect(received.map(({ event }) => (event as SessionEvent).seq)).toEqual(
      log.slice(0, tagged).map(({ seq }) => seq),
    )
    expect((await openSse(port, `/api/sessions/${id}/events`, as('ann'))).response.statusCode).toBe(404)
  })

  it('continues without a gap if the reader may read the session with its new tags, too', async () => {
    pause = () => new Promise((resolve) => setImmediate(resolve))
    const id = await sessionOf('ann')
    const stream = await openSse(port, `/api/sessions/${id}/events`, as('ann'))
    await stream.take(1)
    const writes: Promise<unknown>[] = []
    for (let index = 0; index < 60; index++) {
      writes.push(say(id, `text ${index}`))
      if (index % 10 === 5) writes.push(desk().setTags(id, { tenant: 'acme', round: String(index) }))
    }
    await Promise.all(writes)
    const log = await gateway.store.read({ sessionId: id, limit: 1000 })
    await expect.poll(() => eventsIn(stream).length).toBe(log.length)
    expect(eventsIn(stream).map(({ data }) => data.seq)).toEqual(log.map(({ seq }) => seq))
  })

  it('ends if authorize fails when the tags change', async () => {
    const id = await sessionOf('ann')
    const stream = await openSse(port, `/api/sessions/${id}/events`, as('ann'))
    await stream.take(1)
    pause = () => {
      throw new Error('broken')
    }
    await desk().setTags(id, { tenant: 'acme', more: 'x' })
    await stream.ended
    expect(eventsIn(stream)).toHaveLength(1)
  })
})

describe('the stream of all sessions', () => {
  it('has the events of readable sessions only, in their order', async () => {
    pause = async () => {
      for (let turns = Math.random() * 10; turns > 0; turns--)
        await new Promise((resolve) => setImmediate(resolve))
    }
    const [ours, theirs] = [await sessionOf('ann'), await sessionOf('eve')]
    const stream = await openSse(port, '/api/events', as('eve'))
    const socket = await wsClient(port, as('eve'))
    await socket.ask({ op: 'subscribe', sessionId: '*', after: 0 })
    for (let index = 0; index < 10; index++) {
      await new Api(gateway, null, as('ann')).open(ours, { ...question, toolCallId: `a${index}` })
      await new Api(gateway, null, as('eve')).open(theirs, { ...question, toolCallId: `e${index}` })
    }
    const wanted = (await gateway.store.read({ sessionId: theirs, limit: 1000 }))
      .filter(({ type }) => type.startsWith('interaction_') || type === 'session_status')
      .map(({ seq }) => `${theirs} ${seq}`)
    const seen = () => eventsIn(stream).map(({ data }) => `${data.sessionId} ${data.seq}`)
    await expect.poll(seen).toEqual(wanted)
    const frames = () =>
      socket.frames.flatMap(({ op, event }) => (op === 'event' ? [event as SessionEvent] : []))
    await expect.poll(() => frames().map(({ sessionId, seq }) => `${sessionId} ${seq}`)).toEqual(wanted)
  })

  it('says that a session is gone to who loses it, and lets who gets it load the lists', async () => {
    const id = await sessionOf('ann')
    const [ann, eve] = [
      await openSse(port, '/api/events', as('ann')),
      await openSse(port, '/api/events', as('eve')),
    ]
    const socket = await wsClient(port, as('eve'))
    await socket.ask({ op: 'subscribe', sessionId: '*', after: 0 })
    await new Api(gateway, null, as('ann')).open(id)
    await expect.poll(() => eventsIn(ann).length).toBeGreaterThan(0)
    await move(id, 'globex')
    await expect.poll(() => ann.messages.at(-1)).toEqual({ event: 'gone', data: { sessionId: id } })
    await eve.ended
    expect(eventsIn(eve)).toEqual([])
    expect(await socket.next()).toEqual({ op: 'resync', sessionId: '*' })
  })

  it('says that a session was deleted to those who could read it, and to nobody else', async () => {
    const id = await sessionOf('ann')
    const streams = await Promise.all(
      ['ann', 'reader', 'eve'].map((name) => openSse(port, '/api/events', as(name))),
    )
    // Clients know of sessions by their lists.
    for (const name of ['ann', 'reader', 'eve']) await new Api(gateway, null, as(name)).get('/api/sessions')
    await desk().deleteSession(id)
    for (const stream of streams.slice(0, 2))
      await expect.poll(() => stream.messages.at(-1)).toEqual({ event: 'gone', data: { sessionId: id } })
    await new Api(gateway, null, as('eve')).session()
    const eves = await sessionOf('eve')
    await new Api(gateway, null, as('eve')).open(eves)
    await expect.poll(() => eventsIn(streams[2]!).length).toBeGreaterThan(0)
    expect(JSON.stringify(streams[2]!.messages)).not.toContain(id)
  })
})

describe('an answer over a WebSocket', () => {
  it('needs the same rights as over HTTP', async () => {
    const ann = new Api(gateway, null, as('ann'))
    const sessionId = await ann.session({ agent: null, cwd: '/c' })
    const { interactionId } = await ann.open(sessionId, approval)
    const respond = async (name: string, scope = 'once') => {
      const answer = { decision: 'approve', scope }
      const socket = await wsClient(port, as(name))
      const { ok, error } = await socket.ask({ op: 'respond', sessionId, interactionId, answer })
      return ok === true ? 'ok' : (error as { message: string }).message
    }
    expect(await respond('eve')).toBe(`There is no session ${sessionId}.`)
    expect(await respond('reader')).toBe('You may not answer in this session.')
    expect(await respond('ann', 'always')).toContain('not for always')
    expect(await respond('ann')).toBe('ok')
  })
})

describe('a run of AG-UI', () => {
  const run = (name: string, input: object) =>
    new Api(gateway, null, as(name)).post<string>('/api/agui', { runId: 'run', messages: [], ...input })
  const asked = async () => {
    const id = await sessionOf('ann')
    return new Api(gateway, null, as('ann')).open(id, { ...approval, timeoutMs: null })
  }

  it('with the id of a session that the caller may not read is one of a session of their own', async () => {
    const { sessionId, interactionId } = await asked()
    const input = { threadId: sessionId, forwardedProps: { agent: null } }
    const shown = await run('eve', input)
    expect(shown.body.replaceAll(`"threadId":"${sessionId}"`, '')).not.toContain(sessionId)
    const answered = await run('eve', {
      ...input,
      resume: [{ interruptId: interactionId, status: 'cancelled' }],
    })
    expect(answered.body).toContain('"code":"not_found"')
    expect((await desk().interaction(sessionId, interactionId)).status).toBe('pending')
  })

  it('answers nothing for who may only read', async () => {
    const { sessionId, interactionId } = await asked()
    const resume = [{ interruptId: interactionId, status: 'cancelled' }]
    const { body } = await run('reader', { threadId: sessionId, resume })
    expect(body).toContain('"code":"forbidden"')
    expect((await desk().interaction(sessionId, interactionId)).status).toBe('pending')
  })

  it('ends before the tags that give the session away', async () => {
    const { sessionId } = await asked()
    const running = run('ann', { threadId: sessionId })
    await move(sessionId, 'globex')
    await say(sessionId, 'SECRET')
    expect((await running).body).not.toContain('SECRET')
  })
})
