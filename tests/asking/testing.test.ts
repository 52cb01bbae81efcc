import { connect, NotAnswered, type Askback } from '@askback/client'
import { createDesk, createHost, defineInteraction, memoryStore, type Desk } from '@askback/core'
import { startTestGateway } from '@askback/gateway/testing'
import {
  acceptPlan,
  adjustPlan,
  approve,
  autoAnswer,
  deny,
  fakeClock,
  fill,
  first,
  person,
  pick,
  write,
} from '@askback/testing'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { root } from '../architecture/workspace.js'

const rating = defineInteraction({
  kind: 'rating',
  presentation: 'questionnaire',
  request: z.object({ subject: z.string() }),
  answer: z.object({ stars: z.number() }),
})

const clock = fakeClock()
let desk: Desk
let askback: Askback

beforeEach(() => {
  desk = createDesk({ store: memoryStore(), kinds: [rating], clock })
  askback = connect({ desk })
})

afterEach(() => {
  askback.close()
  desk.close()
})

describe('autoAnswer', () => {
  it('answers every kind by its rule, what is pending and what comes', async () => {
    const session = askback.session('auto')
    const early = session.choose('Which?', ['A', 'B'])
    const people = autoAnswer(desk, {
      question: first,
      approval: approve,
      plan_review: acceptPlan('default'),
      form: fill({ port: 80 }),
      rating: () => ({ stars: 5 }),
    })
    expect(await early).toBe('A')
    expect(await session.chooseMany('Which?', ['C', 'D'])).toEqual(['C'])
    expect(await session.approve('deploy', 1)).toBe(1)
    expect(await session.reviewPlan('1.')).toEqual({ plan: '1.', decision: 'default' })
    expect(await session.form(z.object({ port: z.number() }))).toEqual({ port: 80 })
    expect(await session.request(rating, { subject: 'it' })).toEqual({ stars: 5 })
    await people.stop()
    expect(people.answered.map(({ kind }) => kind)).toEqual([
      'question',
      'question',
      'approval',
      'plan_review',
      'form',
      'rating',
    ])
    expect(people.answered[0]).toMatchObject({ by: { name: 'Test person' } })
  })

  it('leaves pending what no rule answers', async () => {
    const people = autoAnswer(desk, {
      question: ({ request }) => (isAbout(request, 'A') ? pick('A')(never) : undefined),
    })
    const session = askback.session('auto')
    const left = session.choose('Which?', ['B'], { timeout: '1m' })
    void session.approve('deploy', 1, { timeout: '1m' }).outcome()
    expect(await session.choose('Which?', ['A'])).toBe('A')
    await expect.poll(async () => (await desk.pending()).interactions).toHaveLength(2)
    await people.stop()
    clock.advance(60_000)
    expect(await left.outcome()).toMatchObject({ reason: 'timed_out' })
  })

  it('reports a rule that throws, and an answer that does not fit, and goes on', async () => {
    const errors: unknown[] = []
    const rules = { question: first, approval: () => ({ decision: 'perhaps' }) }
    const people = autoAnswer(desk, rules, { onError: (error) => errors.push(error) })
    const session = askback.session('auto')
    void session.askText('Why?', { timeout: '1m' }).outcome()
    void session.approve('deploy', 1, { timeout: '1m' }).outcome()
    expect(await session.choose('Which?', ['A'])).toBe('A')
    await expect.poll(() => errors).toHaveLength(2)
    expect(errors.map(String).toSorted()).toEqual([
      expect.stringContaining('AskbackError'),
      'Error: The question "Why?" has no options: answer it with write().',
    ])
    await people.stop()
  })

  it('answers in the name that a desk is bound to', async () => {
    const eve = desk.as({ by: { id: 'eve', name: 'Eve' }, via: 'web' })
    const people = autoAnswer(eve, { question: first })
    const outcome = await askback.session('auto').choose('Which?', ['A']).outcome()
    expect(outcome).toMatchObject({ by: { name: 'Eve' }, via: 'web' })
    await people.stop()
  })

  it('takes a host, or a connection with a person’s token', async () => {
    const host = createHost({ desk, onError: fail })
    const people = autoAnswer(host, { question: first }, { actor: { id: 'bob', name: 'Bob' } })
    expect(await askback.session('auto').choose('Which?', ['A']).outcome()).toMatchObject({
      by: { name: 'Bob' },
    })
    await people.stop()
    const gateway = await startTestGateway()
    const { url, token, agentToken } = gateway
    const far = connect({ url, token: agentToken })
    const owner = connect({ url, token })
    const owners = autoAnswer(owner, { question: first })
    expect(await far.session('auto').choose('Which?', ['A']).outcome()).toMatchObject({ by: { name: 'Ada' } })
    await owners.stop()
    far.close()
    owner.close()
    await gateway.close()
  })
})

describe('a scripted person', () => {
  it('answers in the order of the test, whatever the order of the requests', async () => {
    const ada = person(desk, { name: 'Ada' })
    const session = askback.session('person')
    const database = session.choose('Which database?', ['PostgreSQL', 'SQLite'])
    const name = session.askText('What is it called?')
    const deployed = session.approve('deploy', { version: '1.4.0' }).outcome()
    const removed = session.approve('remove', '/tmp')
    const port = session.form(z.object({ port: z.number() }), { message: 'Which port?' })
    const plan = session.reviewPlan('1. Add it').outcome()
    await ada.fillsIn(/port/u, { port: 80 })
    await ada.denies('1.4.0', 'Not on a Friday.')
    await ada.approves('remove')
    await ada.answers('Add it', adjustPlan('Test it.'))
    await ada.answers(({ kind, request }) => kind === 'question' && isAbout(request, 'called'), write('main'))
    expect(await ada.sees('Which database?')).toMatchObject({ status: 'pending' })
    await ada.answers('Which database?', pick('SQLite'))
    expect(await Promise.all([database, name, removed, port])).toEqual([
      'SQLite',
      'main',
      '/tmp',
      { port: 80 },
    ])
    expect(await deployed).toMatchObject({ reason: 'denied', message: 'Ada denied it: Not on a Friday.' })
    expect(await plan).toMatchObject({ reason: 'denied' })
    await ada.leaves()
  })

  it('finds each request by a pattern that remembers its last match, too', async () => {
    const ada = person(desk, { name: 'Ada', patience: '10s' })
    const session = askback.session('patterns')
    const pattern = /deploy/g
    for (let times = 0; times < 3; times += 1) {
      const approved = session.approve('deploy', times)
      await ada.approves(pattern)
      expect(await approved).toBe(times)
    }
    await ada.leaves()
  })

  it('fails with what is pending if no such request comes', async () => {
    const ada = person(desk, { name: 'Ada', patience: '50ms' })
    await expect(ada.sees('deploy')).rejects.toThrow(
      'Ada saw no request that shows "deploy". Nothing is pending.',
    )
    void askback
      .session('person')
      .choose('Which?', ['A'])
      .outcome()
      .catch(() => undefined)
    await ada.sees('Which?')
    await expect(ada.approves(/deploy/u)).rejects.toThrow(
      'Ada saw no request that shows /deploy/u. Pending: question "Which?".',
    )
    const late = ada.sees('never')
    await ada.leaves()
    await expect(late).rejects.toThrow('Ada has left.')
  })

  it('skips a request that ended before', async () => {
    const ada = person(desk, { name: 'Ada' })
    const session = askback.session('person')
    const leaving = new AbortController()
    const first = session.choose('Which?', ['A'], { cancelOn: leaving.signal }).outcome()
    await ada.sees('Which?')
    leaving.abort()
    expect(await first).toMatchObject({ reason: 'cancelled' })
    const second = session.choose('Which?', ['A'])
    await ada.answers('Which?', pick('A'))
    expect(await second).toBe('A')
    await ada.leaves()
  })

  it('lets a test see how a program takes no for an answer', async () => {
    const ada = person(desk, { name: 'Ada' })
    const deploy = askback.session('person').withApproval('deploy', () => 'deployed')
    const deployed = deploy('1.4.0').catch((error: unknown) => error)
    await ada.answers('deploy', deny())
    expect(await deployed).toBeInstanceOf(NotAnswered)
    await ada.leaves()
  })
})

it('a fake clock moves deadlines', async () => {
  const asked = askback.session('clock').choose('Which?', ['A'], { timeout: '2d' })
  await expect.poll(async () => (await desk.pending()).interactions).toHaveLength(1)
  clock.advance(2 * 24 * 3_600_000)
  expect(await asked.outcome()).toMatchObject({ reason: 'timed_out' })
})

it('the package needs no test runner', () => {
  const folder = join(root, 'packages/testing/src')
  const sources = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  expect(sources.filter((text) => /from '(?:vitest|node:test|jest|@jest)/u.test(text))).toEqual([])
})

const never = {} as Parameters<ReturnType<typeof pick>>[0]

function isAbout(request: unknown, text: string): boolean {
  return JSON.stringify(request).includes(text)
}

function fail(error: unknown): never {
  throw error
}
