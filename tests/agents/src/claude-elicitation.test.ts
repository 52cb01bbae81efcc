import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeSession } from './claude-session.js'

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint()
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

const hotel = {
  command: process.execPath,
  args: [fileURLToPath(new URL('hotel.mjs', import.meta.url))],
}

/** A session in which the model calls the tool, whose result must contain `expects`. */
async function callTool(tool: string, when: string, expects: (string | RegExp)[]) {
  endpoint.add({
    when,
    steps: [{ say: [{ tool: `mcp__hotel__${tool}`, input: {} }] }, { expects, say: [{ text: 'Done.' }] }],
  })
  const session = await claudeSession({ url: endpoint.url, agent: { mcpServers: { hotel } } })
  await session.say(when)
  const [approval] = await session.pending()
  expect(approval).toMatchObject({ kind: 'approval', toolName: `mcp__hotel__${tool}` })
  await session.answer(approval!, { decision: 'approve' })
  return { session, toolCallId: approval!.toolCallId }
}

describe.concurrent('an elicitation of an MCP server', () => {
  it('is a form at its tool call, and the server gets the values', async () => {
    const expects = [/"action":"accept"/, /"name":"Ada".*"nights":3/, /"quiet, at the back"/]
    const { session, toolCallId } = await callTool('book', 'book a room', expects)
    const [form] = await session.pending()
    expect(form).toMatchObject({ kind: 'form', toolCallId, toolName: 'mcp__hotel__book' })
    const values = { name: 'Ada', nights: 3, room: 'double', breakfast: true, extras: ['quiet, at the back'] }
    await expect(session.answer(form!, { values: { ...values, nights: 99 } })).rejects.toMatchObject({
      code: 'invalid_answer',
    })
    const [again] = await session.pending()
    await session.answer(again!, { values })
    await session.until('turn_ended')
    await session.close()
  })

  it('is still pending after a restart, and the model gets the values', async () => {
    const { session } = await callTool('book', 'book over a restart', [])
    const [form] = await session.pending()
    await session.close()
    endpoint.add({
      when: 'The user has filled in the form',
      steps: [{ expects: ['mcp__hotel__book', '"name":"Grace"'], say: [{ text: 'Booked.' }] }],
    })
    const next = await claudeSession({ url: endpoint.url, agent: { mcpServers: { hotel } }, before: session })
    expect((await next.pending())[0]).toMatchObject({ kind: 'form', interactionId: form!.interactionId })
    await next.answer(form!, { values: { name: 'Grace', nights: 1 } })
    expect(await next.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    await next.close()
  })

  it('is cancelled, not declined, when nobody answers it', async () => {
    const { session } = await callTool('book', 'book and cancel', [/"action":"cancel"/])
    const [form] = await session.pending()
    await session.host.desk.cancel({ sessionId: session.sessionId, interactionId: form!.interactionId })
    expect((await session.until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    await session.close()
  })

  it.each([
    ['Done', 'accept'],
    ['Decline', 'decline'],
  ])('of a page is a question, whose option %s means %s', async (label, action) => {
    const expects = [new RegExp(`"action":"${action}"`)]
    const { session } = await callTool('login', `log in and ${action}`, expects)
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'question' })
    expect(JSON.stringify(item!.request)).toContain('https://hotel.example/login')
    await session.answer(item!, { answers: [{ selected: [label] }] })
    await session.until('turn_ended')
    await session.close()
  })

  it('for a secret never becomes a form, because the log would store it', async () => {
    const { session } = await callTool('secret', 'tell a secret', ['Invalid elicitation request'])
    await session.until('turn_ended')
    expect((await session.of('interaction_request')).map(({ kind }) => kind)).toEqual(['approval'])
    await session.close()
  })
})
