import { describe, expect, it } from 'vitest'
import type { EventPage } from './event-page.js'
import { getJson } from './sse-client.test.helper.js'
import { sessionWith, streamServer } from './stream-server.test.helper.js'

describe('a page of events', () => {
  it.each([
    ['', [1, 2, 3, 4, 5], null],
    ['?limit=2', [1, 2], 2],
    ['?limit=2&after=2', [3, 4], 4],
    ['?limit=2&after=3', [4, 5], null],
    ['?after=5', [], null],
    ['?after=99', [], null],
    ['?limit=5000', [1, 2, 3, 4, 5], null],
    ['?before=6&limit=2', [4, 5], 4],
    ['?before=4&limit=2', [2, 3], 2],
    ['?before=2&limit=2', [1], null],
    ['?before=3&limit=2', [1, 2], null],
    ['?before=1', [], null],
    ['?before=99&limit=1', [5], 5],
    ['?after=1&before=4&limit=1', [3], 3],
    ['?after=1&before=4', [2, 3], null],
  ])('%s', async (query, seqs, next) => {
    const server = await streamServer()
    const id = await sessionWith(server, 4)
    const { status, body } = await getJson(server.port, `/api/sessions/${id}/events${query}`)
    expect(status).toBe(200)
    const page = body as EventPage
    expect({ seqs: page.events.map((event) => event.seq), next: page.next }).toEqual({ seqs, next })
  })

  it.each(['after=x', 'before=-1', 'limit=0', 'limit=x', 'after=1&after=2'])('refuses ?%s', async (query) => {
    const server = await streamServer()
    const id = await sessionWith(server, 1)
    const answer = await getJson(server.port, `/api/sessions/${id}/events?${query}`)
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
  })

  it('of no session is not found, and of another agent’s forbidden', async () => {
    const server = await streamServer()
    const id = await sessionWith(server, 1)
    expect(await getJson(server.port, '/api/sessions/none/events')).toMatchObject({ status: 404 })
    const headers = { 'x-caller': 'agent of another' }
    expect(await getJson(server.port, `/api/sessions/${id}/events`, headers)).toMatchObject({ status: 403 })
  })

  it.each(['application/json, text/plain, */*', 'APPLICATION/JSON'])(
    'is what a client gets that takes JSON and no stream: %s',
    async (accept) => {
      const server = await streamServer()
      const id = await sessionWith(server, 1)
      expect(await getJson(server.port, `/api/sessions/${id}/events`, { accept })).toMatchObject({
        status: 200,
      })
    },
  )
})
