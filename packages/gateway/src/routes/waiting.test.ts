import type { Interaction, SessionEvent } from '@askback/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  Api,
  approval,
  approve,
  question,
  sqlite,
  startTestGateway,
  type TestGateway,
} from '../testing/index.js'
import { until } from '../testing/test-agents.test.helper.js'

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

async function claims(sessionId: string): Promise<string[]> {
  const events = await gateway.store.read({ sessionId, limit: 1000 })
  return events.flatMap((event: SessionEvent) => (event.type === 'interaction_delivered' ? [event.to] : []))
}

describe('waiting', () => {
  it('delays the response of a POST until the interaction is settled', async () => {
    const id = await agent.session()
    const asked = agent.post<One>(`/api/sessions/${id}/interactions?wait=20`, {
      ...question,
      toolCallId: 't',
    })
    const item = await firstPending()
    await person.post(`${at(item)}/response`, sqlite)
    expect(await asked).toMatchObject({
      status: 201,
      body: { interaction: { settlement: 'answered', answer: sqlite.answer } },
    })
  })

  it('delays the response of a GET, which has the pending interaction when the time is over', async () => {
    const item = await agent.open(await agent.session())
    const started = Date.now()
    const read = await agent.get<One>(`${at(item)}?wait=0.05`)
    expect(read).toMatchObject({ status: 200, body: { interaction: { status: 'pending' } } })
    expect(Date.now() - started).toBeGreaterThanOrEqual(45)
  })

  it('[L10] claims nothing with ?claim=0, so that a poll that nobody reads any more costs no approval', async () => {
    const item = await agent.open(await agent.session(), approval)
    const polled = agent.get<One>(`${at(item)}?wait=20&claim=0`)
    await person.post(`${at(item)}/response`, approve)
    expect((await polled).body.interaction).toMatchObject({ settlement: 'approved' })
    expect(await claims(item.sessionId)).toEqual([])
    const claimed = await agent.get<One>(at(item))
    expect(claimed.body.interaction).not.toHaveProperty('delivered')
    expect(await claims(item.sessionId)).toHaveLength(1)
    expect(await agent.get(`${at(item)}?claim=no`)).toMatchObject({ status: 400 })
  })

  it.each(['61', '-1', 'soon', '1e1', ''])('refuses to wait %j', async (wait) => {
    const item = await agent.open(await agent.session())
    expect(await agent.get(`${at(item)}?wait=${wait}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request' } },
    })
  })

  describe('[L6] for an interaction that is superseded', () => {
    const form = {
      kind: 'form',
      request: { message: 'Where?', schema: { fields: [{ name: 'port', type: 'number', max: 65_535 }] } },
    }

    it('continues with the interaction that superseded it', async () => {
      const item = await agent.open(await agent.session(), form)
      const waiting = agent.get<One>(`${at(item)}?wait=20`)
      const again = await answeredWrong(item)
      for (const wait of ['0', '0.01'])
        expect(await agent.get<One>(`${at(item)}?wait=${wait}`)).toMatchObject({
          body: { interaction: { interactionId: again.interactionId, status: 'pending' } },
        })
      expect(await agent.get<One>(at(item))).toMatchObject({
        body: { interaction: { interactionId: item.interactionId, settlement: 'superseded' } },
      })
      await person.post(`${at(again)}/response`, { answer: { values: { port: 80 } } })
      expect(await waiting).toMatchObject({
        body: { interaction: { interactionId: again.interactionId, settlement: 'answered' } },
      })
    })

    it('returns the interaction that superseded it to a repeated request, and claims no other', async () => {
      const id = await agent.session()
      const key = { 'idempotency-key': 'k' }
      const again = await answeredWrong(await agent.open(id, form, key))
      const asked = () =>
        agent.post<One>(`/api/sessions/${id}/interactions`, { toolCallId: 'call', ...form }, key)
      expect(await asked()).toMatchObject({
        status: 200,
        body: { interaction: { interactionId: again.interactionId, status: 'pending' } },
      })
      expect(await claims(id)).toEqual([])
      await person.post(`${at(again)}/response`, { answer: { values: { port: 80 } } })
      const { body } = await asked()
      expect(body.interaction).toMatchObject({
        interactionId: again.interactionId,
        settlement: 'answered',
      })
      expect(body.interaction.delivered).toBeUndefined()
      expect(await claims(id)).toEqual(['agents'])
    })

    async function answeredWrong(item: Interaction): Promise<Interaction> {
      const { body } = await person.post<{ error: { details: One } }>(`${at(item)}/response`, {
        answer: { values: { port: 99_999 } },
      })
      return body.error.details.interaction
    }
  })

  it('[L11] reports to a repeated request that another request replaced it', async () => {
    const id = await agent.session()
    const key = { 'idempotency-key': 'k' }
    const item = await agent.open(id, { ...approval, attach: true }, key)
    await agent.open(id, { ...approval, attach: true, request: { input: { command: 'rm' } } })
    const body = { toolCallId: 'call', ...approval, attach: true }
    expect(await agent.post<One>(`/api/sessions/${id}/interactions`, body, key)).toMatchObject({
      status: 200,
      body: { interaction: { interactionId: item.interactionId, settlement: 'superseded' } },
    })
  })
})

describe('[L10] a settlement', () => {
  it('is claimed once, when its opener reads it, and a second read can see that', async () => {
    const item = await agent.open(await agent.session(), approval)
    await person.post(`${at(item)}/response`, approve)
    const first = await agent.get<One>(at(item))
    const second = await agent.get<One>(at(item))
    expect(first.body.interaction).toMatchObject({ settlement: 'approved' })
    expect(first.body.interaction.delivered).toBeUndefined()
    expect(second.body.interaction.delivered).toBe(true)
    expect(await claims(item.sessionId)).toEqual(['agents'])
  })

  it('is not claimed when a person reads it', async () => {
    const item = await agent.open(await agent.session(), approval)
    const watching = person.get<One>(`${at(item)}?wait=20`)
    await person.post(`${at(item)}/response`, approve)
    await watching
    await person.get(at(item))
    expect(await claims(item.sessionId)).toEqual([])
    expect((await agent.get<One>(at(item))).body.interaction.delivered).toBeUndefined()
  })

  it('is claimed by the person who opened it, and by a POST with the same key', async () => {
    const id = await person.session()
    const key = { 'idempotency-key': 'k' }
    const item = await person.open(id, approval, key)
    await person.post(`${at(item)}/response`, approve)
    const path = `/api/sessions/${id}/interactions`
    const again = await person.post<One>(path, { toolCallId: 'call', ...approval }, key)
    expect(again).toMatchObject({ status: 200, body: { interaction: { settlement: 'approved' } } })
    expect(again.body.interaction.delivered).toBeUndefined()
    expect((await person.get<One>(at(item))).body.interaction.delivered).toBe(true)
    expect(await claims(id)).toEqual(['person:owner'])
  })

  it('is claimed at once if a mode or a rule allows the request', async () => {
    const id = await person.session({ agent: null, permissionMode: 'bypassPermissions' })
    const allowed = await agent.open(id, approval)
    expect(allowed).toMatchObject({ settlement: 'approved', via: 'policy' })
    expect(allowed.delivered).toBeUndefined()
    expect(await claims(id)).toEqual(['agents'])
    expect((await agent.get<One>(at(allowed))).body.interaction.delivered).toBe(true)
  })

  it('[L11] is claimed by a caller that attaches', async () => {
    const id = await agent.session()
    const item = await agent.open(id, { ...approval, attach: true })
    await person.post(`${at(item)}/response`, approve)
    const path = `/api/sessions/${id}/interactions`
    const attached = await agent.post<One>(path, { toolCallId: 'call', ...approval, attach: true })
    expect(attached).toMatchObject({
      status: 200,
      body: { interaction: { interactionId: item.interactionId } },
    })
    expect(attached.body.interaction.delivered).toBeUndefined()
    expect(await claims(id)).toEqual(['agents'])
  })

  it('is claimed in the append that settles it, if its opener waits', async () => {
    const item = await agent.open(await agent.session(), approval)
    const waiting = agent.get<One>(`${at(item)}?wait=20`)
    await until(() => person.get<One>(at(item)))
    await person.post(`${at(item)}/response`, approve)
    expect((await waiting).body.interaction.delivered).toBeUndefined()
    expect(await claims(item.sessionId)).toEqual(['agents'])
  })
})

async function firstPending(): Promise<Interaction> {
  const { interactions } = await until(async () => {
    const page = await gateway.host.desk.pending()
    return page.interactions.length > 0 ? page : null
  })
  return interactions[0]!
}
