import type { Interaction, SessionEvent } from '@askback/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Api, sqlite, startTestGateway, type TestGateway } from '../testing/index.js'

type One = { interaction: Interaction }

let gateway: TestGateway
let person: Api
let agent: Api

beforeEach(async () => {
  gateway = await startTestGateway({ listen: false })
  person = new Api(gateway)
  agent = new Api(gateway, gateway.agentToken)
})
afterEach(() => gateway.close())

const at = (item: Interaction) => `/api/sessions/${item.sessionId}/interactions/${item.interactionId}`

describe('answering', () => {
  it('[L3] tells the later answer who settled it, and returns the same to a repeated request', async () => {
    const item = await agent.open(await agent.session())
    const key = { 'idempotency-key': 'mine' }
    const won = await person.post<{ events: SessionEvent[] }>(`${at(item)}/response`, sqlite, key)
    expect(won.status).toBe(200)
    expect(won.body.events.map(({ type }) => type)).toEqual([
      'interaction_response',
      'interaction_pending',
      'session_status',
    ])
    expect(await person.post(`${at(item)}/response`, sqlite, key)).toMatchObject({
      status: 200,
      body: won.body,
    })
    expect(await person.post(`${at(item)}/response`, sqlite)).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'already_settled',
          details: { interaction: { answer: sqlite.answer, by: { id: 'owner', name: 'Ada' } } },
        },
      },
    })
  })

  it('takes actor and surface from the credential, and never from the body', async () => {
    const item = await agent.open(await agent.session())
    const body = { ...sqlite, by: { id: 'mallory' }, via: 'telegram' }
    const settled = await person.post<One>(`${at(item)}/response`, body, { 'askback-surface': 'terminal' })
    expect(settled.body.interaction).toMatchObject({ by: { id: 'owner', name: 'Ada' }, via: 'terminal' })
  })

  it('refuses a surface that a client may not name', async () => {
    const item = await agent.open(await agent.session())
    const answered = await person.post(`${at(item)}/response`, sqlite, { 'askback-surface': 'web' })
    expect(answered).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
  })

  it('[L9] [L12] leaves it pending if the answer or its digest does not match', async () => {
    const item = await agent.open(await agent.session())
    const wrong = { answer: { answers: [{ selected: ['Oracle'] }] } }
    expect(await person.post(`${at(item)}/response`, wrong)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_answer' } },
    })
    expect(await person.post(`${at(item)}/response`, { ...sqlite, digest: 'f'.repeat(64) })).toMatchObject({
      status: 409,
      body: { error: { code: 'digest_mismatch' } },
    })
    expect((await person.post(`${at(item)}/response`, {})).status).toBe(400)
    expect((await person.get<One>(at(item))).body.interaction.status).toBe('pending')
  })

  it('finds an interaction by its session only', async () => {
    const item = await agent.open(await agent.session())
    const other = await agent.session()
    const elsewhere = `/api/sessions/${other}/interactions/${item.interactionId}`
    for (const answered of [
      await person.get(elsewhere),
      await person.post(`${elsewhere}/response`, sqlite),
      await person.delete(elsewhere),
      await agent.get(elsewhere),
      await agent.delete(elsewhere),
    ]) {
      expect(answered).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
    }
  })
})

describe('cancelling', () => {
  it('settles it as cancelled, once', async () => {
    const item = await agent.open(await agent.session())
    expect(await agent.delete(at(item))).toMatchObject({
      status: 200,
      body: { interaction: { settlement: 'cancelled' } },
    })
    expect(await agent.delete(at(item))).toMatchObject({
      status: 409,
      body: { error: { code: 'already_settled' } },
    })
  })

  it('is allowed for its opener and for people', async () => {
    const item = await person.open(await agent.session())
    expect(await agent.delete(at(item))).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden' } },
    })
    const cancelled = await person.delete<One>(at(item))
    expect(cancelled.body.interaction).toMatchObject({ by: { id: 'owner' }, via: 'http' })
  })
})

describe('the inbox', () => {
  it('pages through what is pending everywhere, oldest first', async () => {
    const opened: string[] = []
    for (const _ of [1, 2, 3]) opened.push((await agent.open(await agent.session())).interactionId)
    type Page = { interactions: Interaction[]; next: string | null }
    const first = await person.get<Page>('/api/interactions?status=pending&limit=2')
    const second = await person.get<Page>(`/api/interactions?status=pending&limit=2&after=${first.body.next}`)
    const seen = [...first.body.interactions, ...second.body.interactions]
    expect(seen.map(({ interactionId }) => interactionId)).toEqual(opened)
    expect(second.body.next).toBeNull()
  })

  it.each(['status=settled', 'limit=0', 'limit=1001', 'after=x', 'limit=1&limit=2'])(
    'refuses ?%s',
    async (query) => {
      expect((await person.get(`/api/interactions?${query}`)).status).toBe(400)
    },
  )
})
