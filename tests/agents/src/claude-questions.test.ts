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

type Asked = { question: string }[]

const textOf = ({ questions }: { questions: Asked }) => questions[0]!.question

/** One session in which the model asks these, and is told this. */
async function expectTold(when: string, calls: Asked[], answers: unknown[], told: (string | RegExp)[]) {
  endpoint.add({
    when,
    steps: [
      { say: calls.map((questions) => ({ tool: 'AskUserQuestion', input: { questions } })) },
      { told, notTold: ['did not answer'], say: [{ text: 'Thanks.' }] },
    ],
  })
  const session = await claudeSession({ url: endpoint.url })
  await session.say(when)
  const pending = await session.pending(calls.length)
  // In whatever order the program has asked.
  const items = calls.map((questions) =>
    pending.find(({ request }) => textOf(request as { questions: Asked }) === textOf({ questions }))!,
  )
  for (const [index, item] of items.entries()) await session.answer(item, { answers: answers[index] })
  const [ended] = await session.until('turn_ended')
  expect(ended!.reason).toBe('done')
  const results = await session.of('tool_result')
  await session.close()
  return { items, results }
}

describe.concurrent('AskUserQuestion', () => {
  it('lesson 1, 2: brings the model exactly the label that was chosen, comma and all', async () => {
    const { items, results } = await expectTold(
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

  it('brings several labels, and a text of one’s own', async () => {
    const many = { ...database, question: 'Which databases?', multiSelect: true }
    await expectTold(
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

  it('lesson 3: is told by its own program that two questions may not have the same text', async () => {
    endpoint.add({
      when: 'the same text',
      steps: [
        { say: [{ tool: 'AskUserQuestion', input: { questions: [database, database] } }] },
        { told: ['Question texts must be unique'], say: [{ text: 'Then not.' }] },
      ],
    })
    const session = await claudeSession({ url: endpoint.url })
    await session.say('the same text')
    await session.until('turn_ended')
    expect(await session.of('interaction_request')).toEqual([])
    await session.close()
  })

  it('lesson 28: answers two calls at once, each with its own', async () => {
    const other = { ...database, question: 'Which cache?' }
    const { items } = await expectTold(
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
          { told: ['"Which database?"="None"'], say: [{ text: 'Thanks.' }] },
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

  it('lesson 6: tells the model that nobody answered, and nothing else', async () => {
    endpoint.add({
      when: 'nobody is there',
      steps: [
        { say: [{ tool: 'AskUserQuestion', input: { questions: [database] } }] },
        { told: ['Nobody answered in time'], notTold: ['SQLite'], say: [{ text: 'Then not.' }] },
      ],
    })
    const session = await claudeSession({ url: endpoint.url, agent: { timeoutMs: 50 } })
    await session.say('nobody is there')
    await session.until('turn_ended')
    expect((await session.of('interaction_response'))[0]).toMatchObject({ settlement: 'timed_out' })
    await session.close()
  })
})
