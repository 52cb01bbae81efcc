import { createDesk, createHost, memoryStore } from '@askback/core'
import type { Interaction, Json, QuestionRequest, SessionEvent } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { demoAgent, tour } from './index.js'

const me = { by: { id: 'me' }, via: 'direct' } as const

/** Sends a message, and answers or cancels every request until the turn ends. */
async function playTour(
  text: string,
  answer: (item: Interaction) => Json | undefined,
): Promise<SessionEvent[]> {
  const store = memoryStore()
  const onError = (error: unknown) => {
    throw error
  }
  const host = createHost({
    desk: createDesk({ store, onError }),
    agents: [demoAgent({ paceMs: 0 })],
    onError,
  })
  const { session } = await host.createSession({ cwd: '/shop' })
  const turnEnded = new Promise<void>((resolve) => {
    host.desk.on(({ events }) => {
      for (const event of events) {
        if (event.type === 'turn_ended') resolve()
        if (event.type !== 'interaction_request') continue
        const { interactionId } = event
        void host.desk.interaction(session.id, interactionId).then((item) => {
          const given = answer(item)
          return given === undefined
            ? host.desk.as(me).cancel({ interactionId })
            : host.desk.as(me).respond({ interactionId, answer: given })
        })
      }
    })
  })
  await host.as(me).message({ sessionId: session.id, text })
  await turnEnded
  await host.close()
  return store.read({ sessionId: session.id, limit: 1000 })
}

function agree(item: Interaction): Json {
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

function textOf(events: SessionEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('')
}

/** How the refused calls were settled; `undefined` for a tool that failed. */
function refusalsIn(events: SessionEvent[]) {
  return events.flatMap((event) => (event.type === 'tool_result' && event.isError ? [event.settledBy] : []))
}

describe('the tour', () => {
  it('shows questions, approvals and a plan, says that it is scripted, and ends', async () => {
    const events = await playTour('hello', agree)
    const kinds = events.flatMap((event) => (event.type === 'interaction_request' ? [event.kind] : []))
    expect(kinds).toEqual(['question', 'question', 'approval', 'approval', 'plan_review'])
    expect(textOf(events)).toContain('scripted demo agent')
    expect(textOf(events)).toContain('**PostgreSQL** it is.')
    expect(textOf(events)).toContain('Search, by name; End to end')
    expect(textOf(events)).not.toContain('{{')
    expect(textOf(events)).toContain('Plan approved.')
    expect(textOf(events)).not.toMatch(/clean_edit|\(edit\)|\(default\)/)
    expect(events.findLast((event) => event.type === 'turn_ended')).toMatchObject({ reason: 'done' })
  })

  it('continues after a refusal', async () => {
    const events = await playTour('hello', (item) => {
      if (item.kind === 'approval') return { decision: 'deny', message: 'not today' }
      if (item.kind === 'plan_review') return { decision: 'adjust', feedback: 'smaller steps' }
      return agree(item)
    })
    expect(textOf(events)).toContain('I leave that alone')
    expect(textOf(events)).toContain('stay with planning')
    expect(textOf(events).match(/You said: “not today”\./g)).toHaveLength(2)
    expect(textOf(events)).toContain('You said: “smaller steps”.')
    const results = events.flatMap((event) =>
      event.type === 'tool_result' && event.isError ? [event.output] : [],
    )
    expect(results).toContain('The person said no: not today')
    expect(refusalsIn(events)).toEqual(['denied', 'denied', 'adjusted'])
  })

  it.each([
    ['PostgreSQL', 'npm install --save-exact pg &&', 'postgres://localhost/shop'],
    ['SQLite', 'npm install --save-exact better-sqlite3 &&', 'sqlite:shop.db'],
  ])('uses the chosen database: %s', async (label, command, url) => {
    const events = await playTour('hello', (item) =>
      item.kind === 'question' && item.request && JSON.stringify(item.request).includes('Which database')
        ? { answers: [{ selected: [label] }] }
        : agree(item),
    )
    const done = JSON.stringify(events.filter(({ type }) => type === 'tool_call'))
    expect(done).toContain(command)
    expect(done).toContain(url)
    expect(done).toContain(`to **${label}**`)
    expect(done.includes('postgres')).toBe(label === 'PostgreSQL')
  })

  it('installs no driver for an unknown database', async () => {
    const events = await playTour('hello', (item) =>
      JSON.stringify(item.request).includes('Which database')
        ? { answers: [{ selected: [], other: 'CockroachDB' }] }
        : agree(item),
    )
    expect(JSON.stringify(events)).not.toMatch(/save-exact pg|better-sqlite3|postgres:/)
    expect(textOf(events)).toContain('**CockroachDB** it is.')
  })

  it('invents no answer if nobody answers', async () => {
    for (const message of ['hello', 'parallel', 'form']) {
      const events = await playTour(message, () => undefined)
      expect(textOf(events)).not.toMatch(/timed_out|cancelled it is|You chose|approved|I have|\{\{|pg/)
      expect(refusalsIn(events)).not.toContain(undefined)
    }
  })

  it('asks several things at once on request', async () => {
    expect(textOf(await playTour('parallel please', agree))).toContain(
      'Color: Amber. Size: Small. Printing: approved.',
    )
  })

  it('describes a field that has a pattern', () => {
    const fields = JSON.stringify(tour).match(/\{"name"[^{}]*"pattern"[^{}]*\}/g)
    expect(fields?.map((field) => (JSON.parse(field) as { description?: string }).description)).toEqual([
      'Like 1.2.3',
    ])
  })

  it('asks with a form on request', async () => {
    expect(textOf(await playTour('a form', agree))).toContain('"version":"1.5.0"')
  })

  it('shows what an error looks like', async () => {
    const events = await playTour('error', agree)
    expect(events.find((event) => event.type === 'error')).toMatchObject({
      code: 'agent_error',
      fatal: false,
    })
    expect(events.findLast((event) => event.type === 'turn_ended')).toMatchObject({ reason: 'error' })
  })
})
