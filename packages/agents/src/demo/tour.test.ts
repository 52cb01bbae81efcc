import { createDesk, createHost, memoryStore } from '@askback/core'
import type { Interaction, Json, QuestionRequest, SessionEvent } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { demoAgent, tour } from './index.js'

const me = { by: { id: 'me' }, via: 'direct' } as const

/** Sends a message and answers everything that is asked, or cancels it, until the turn ends. */
async function take(text: string, answer: (item: Interaction) => Json | undefined): Promise<SessionEvent[]> {
  const store = memoryStore()
  const onError = (error: unknown) => {
    throw error
  }
  const host = createHost({ desk: createDesk({ store, onError }), agents: [demoAgent({ pace: 0 })], onError })
  const { session } = await host.createSession({ cwd: '/shop' })
  const over = new Promise<void>((resolve) => {
    host.desk.on(({ events }) => {
      for (const event of events) {
        if (event.type === 'turn_ended') resolve()
        if (event.type !== 'interaction_request') continue
        const { interactionId } = event
        void host.desk.interaction(session.id, interactionId).then((item) => {
          const given = answer(item)
          return given === undefined
            ? host.desk.cancel({ ...me, interactionId })
            : host.desk.respond({ ...me, interactionId, answer: given })
        })
      }
    })
  })
  await host.message({ sessionId: session.id, text, ...me })
  await over
  await host.close()
  return store.read({ sessionId: session.id, limit: 1000 })
}

function agreeable(item: Interaction): Json {
  switch (item.kind) {
    case 'question':
      return {
        answers: (item.request as QuestionRequest).questions.map(({ options }) => ({
          selected: [options[0]!.label],
        })),
      }
    case 'approval':
      return { decision: 'approve' }
    case 'plan_review':
      return { decision: 'edit' }
    default:
      return { values: { version: '1.5.0', now: true, channel: 'beta' } }
  }
}

function says(events: SessionEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('')
}

/** What the log says of the calls that did not end well; `undefined` is a tool that failed. */
function settledBy(events: SessionEvent[]) {
  return events.flatMap((event) => (event.type === 'tool_result' && event.isError ? [event.settledBy] : []))
}

describe('the tour', () => {
  it('shows questions, approvals and a plan, says that it is scripted, and ends', async () => {
    const events = await take('hello', agreeable)
    const kinds = events.flatMap((event) => (event.type === 'interaction_request' ? [event.kind] : []))
    expect(kinds).toEqual(['question', 'question', 'approval', 'approval', 'plan_review'])
    expect(says(events)).toContain('scripted demo agent')
    expect(says(events)).toContain('**PostgreSQL** it is.')
    expect(says(events)).toContain('Search, by name; End to end')
    expect(says(events)).not.toContain('{{')
    expect(says(events)).toContain('Plan approved.')
    expect(says(events)).not.toMatch(/clean_edit|\(edit\)|\(default\)/)
    expect(events.findLast((event) => event.type === 'turn_ended')).toMatchObject({ reason: 'done' })
  })

  it('takes a no for an answer', async () => {
    const events = await take('hello', (item) => {
      if (item.kind === 'approval') return { decision: 'deny', message: 'not today' }
      if (item.kind === 'plan_review') return { decision: 'adjust', feedback: 'smaller steps' }
      return agreeable(item)
    })
    expect(says(events)).toContain('I leave that alone')
    expect(says(events)).toContain('stay with planning')
    expect(says(events).match(/You said: “not today”\./g)).toHaveLength(2)
    expect(says(events)).toContain('You said: “smaller steps”.')
    const results = events.flatMap((event) =>
      event.type === 'tool_result' && event.isError ? [event.output] : [],
    )
    expect(results).toContain('The person said no: not today')
    expect(settledBy(events)).toEqual(['denied', 'denied', 'adjusted'])
  })

  it.each([
    ['PostgreSQL', 'npm install --save-exact pg &&', 'postgres://localhost/shop'],
    ['SQLite', 'npm install --save-exact better-sqlite3 &&', 'sqlite:shop.db'],
  ])('does what was chosen: %s', async (label, command, url) => {
    const events = await take('hello', (item) =>
      item.kind === 'question' && item.request && JSON.stringify(item.request).includes('Which database')
        ? { answers: [{ selected: [label] }] }
        : agreeable(item),
    )
    const done = JSON.stringify(events.filter(({ type }) => type === 'tool_call'))
    expect(done).toContain(command)
    expect(done).toContain(url)
    expect(done).toContain(`to **${label}**`)
    expect(done.includes('postgres')).toBe(label === 'PostgreSQL')
  })

  it('installs no driver for a database that it does not know', async () => {
    const events = await take('hello', (item) =>
      JSON.stringify(item.request).includes('Which database')
        ? { answers: [{ selected: [], other: 'CockroachDB' }] }
        : agreeable(item),
    )
    expect(JSON.stringify(events)).not.toMatch(/save-exact pg|better-sqlite3|postgres:/)
    expect(says(events)).toContain('**CockroachDB** it is.')
  })

  it('makes nothing up where nobody answers', async () => {
    for (const message of ['hello', 'parallel', 'form']) {
      const events = await take(message, () => undefined)
      expect(says(events)).not.toMatch(/timed_out|cancelled it is|You chose|approved|I have|\{\{|pg/)
      expect(settledBy(events)).not.toContain(undefined)
    }
  })

  it('asks several things at once on request', async () => {
    expect(says(await take('parallel please', agreeable))).toContain(
      'Color: Amber. Size: Small. Printing: approved.',
    )
  })

  it('says what a field with a pattern takes', () => {
    const fields = JSON.stringify(tour).match(/\{"name"[^{}]*"pattern"[^{}]*\}/g)
    expect(fields?.map((field) => (JSON.parse(field) as { description?: string }).description)).toEqual([
      'Like 1.2.3',
    ])
  })

  it('asks with a form on request', async () => {
    expect(says(await take('a form', agreeable))).toContain('"version":"1.5.0"')
  })

  it('shows what an error looks like', async () => {
    const events = await take('error', agreeable)
    expect(events.find((event) => event.type === 'error')).toMatchObject({
      code: 'agent_error',
      fatal: false,
    })
    expect(events.findLast((event) => event.type === 'turn_ended')).toMatchObject({ reason: 'error' })
  })
})
