import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { PermissionMode } from '@askback/protocol'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeSession } from './claude-session.js'

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint()
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

const database = {
  header: 'Database',
  question: 'Which database?',
  options: [
    { label: 'Postgres, hosted', description: 'With commas, in the label', preview: 'CREATE TABLE a' },
    { label: 'SQLite', description: 'One file' },
    { label: 'None', description: 'In memory' },
  ],
  multiSelect: false,
}

type Questions = { question: string }[]

const textOf = ({ questions }: { questions: Questions }) => questions[0]!.question

/** Runs a session in which the model makes these calls, and checks that it receives this after the answers. */
async function expectModelReceives(
  when: string,
  calls: Questions[],
  answers: unknown[],
  expects: (string | RegExp)[],
) {
  endpoint.add({
    when,
    steps: [
      { say: calls.map((questions) => ({ tool: 'AskUserQuestion', input: { questions } })) },
      { expects, expectsNot: ['did not answer'], say: [{ text: 'Thanks.' }] },
    ],
  })
  const session = await claudeSession({ url: endpoint.url })
  await session.say(when)
  const pending = await session.pending(calls.length)
  // Claude Code may ask in any order.
  const items = calls.map((questions) =>
    pending.find(({ request }) => textOf(request as { questions: Questions }) === textOf({ questions }))!,
  )
  for (const [index, item] of items.entries()) await session.answer(item, { answers: answers[index] })
  const [ended] = await session.until('turn_ended')
  expect(ended!.reason).toBe('done')
  const results = await session.of('tool_result')
  await session.close()
  return { items, results }
}

describe.concurrent('AskUserQuestion', () => {
  it('gives the model exactly the chosen label, even with a comma', async () => {
    const { items, results } = await expectModelReceives(
      'a comma',
      [[database]],
      [[{ selected: ['Postgres, hosted'], note: 'The small plan' }]],
      ['"Which database?"="Postgres, hosted"', 'The small plan', 'CREATE TABLE a'],
    )
    expect(items[0]).toMatchObject({
      kind: 'question',
      toolName: 'AskUserQuestion',
      request: { questions: [database] },
    })
    expect(results[0]).toMatchObject({ toolCallId: items[0]!.toolCallId, isError: false })
  })

  it('gives the model several labels, and a typed text', async () => {
    const many = { ...database, question: 'Which databases?', multiSelect: true }
    await expectModelReceives(
      'several labels',
      [[many, { ...database, question: 'And for tests?' }]],
      [
        [
          { selected: ['Postgres, hosted', 'None'], other: 'DuckDB, too' },
          { selected: [], other: 'Whatever, really' },
        ],
      ],
      [/"Which databases\?"="?.*Postgres, hosted.*None.*DuckDB, too/, '"And for tests?"="Whatever, really"'],
    )
  })

  it('is refused by Claude Code itself if two questions have the same text', async () => {
    endpoint.add({
      when: 'the same text',
      steps: [
        { say: [{ tool: 'AskUserQuestion', input: { questions: [database, database] } }] },
        { expects: ['Question texts must be unique'], say: [{ text: 'Then not.' }] },
      ],
    })
    const session = await claudeSession({ url: endpoint.url })
    await session.say('the same text')
    await session.until('turn_ended')
    expect(await session.of('interaction_request')).toEqual([])
    await session.close()
  })

  it('answers each of two concurrent calls with its own answer', async () => {
    const other = { ...database, question: 'Which cache?' }
    const { items } = await expectModelReceives(
      'two calls',
      [[database], [other]],
      [[{ selected: ['SQLite'] }], [{ selected: ['None'] }]],
      ['"Which database?"="SQLite"', '"Which cache?"="None"'],
    )
    expect(new Set(items.map(({ toolCallId }) => toolCallId)).size).toBe(2)
  })

  it.each<PermissionMode>(['acceptEdits', 'plan', 'bypassPermissions'])(
    'asks a person in mode %s',
    async (mode) => {
      const when = `asks in ${mode}`
      endpoint.add({
        when,
        steps: [
          { say: [{ tool: 'AskUserQuestion', input: { questions: [database] } }] },
          { expects: ['"Which database?"="None"'], say: [{ text: 'Thanks.' }] },
        ],
      })
      const session = await claudeSession({ url: endpoint.url, mode })
      await session.say(when)
      const [item] = await session.pending()
      await session.answer(item!, { answers: [{ selected: ['None'] }] })
      await session.until('turn_ended')
      expect((await session.of('interaction_response'))[0]).toMatchObject({ by: { id: 'me' }, via: 'direct' })
      await session.close()
    },
  )

  it('tells the model that nobody answered, and invents no answer', async () => {
    endpoint.add({
      when: 'nobody is there',
      steps: [
        { say: [{ tool: 'AskUserQuestion', input: { questions: [database] } }] },
        { expects: ['Nobody answered in time'], expectsNot: ['SQLite'], say: [{ text: 'Then not.' }] },
      ],
    })
    const session = await claudeSession({ url: endpoint.url, agent: { timeoutMs: 50 } })
    await session.say('nobody is there')
    await session.until('turn_ended')
    expect((await session.of('interaction_response'))[0]).toMatchObject({ settlement: 'timed_out' })
    await session.close()
  })
})
