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

/** A session in which the tool is called, and the model is told this. */
async function calling(tool: string, when: string, told: (string | RegExp)[]) {
  endpoint.add({
    when,
    steps: [{ say: [{ tool: `mcp__hotel__${tool}`, input: {} }] }, { told, say: [{ text: 'Done.' }] }],
  })
  const session = await claudeSession({ url: endpoint.url, agent: { mcpServers: { hotel } } })
  await session.say(when)
  const [approval] = await session.pending()
  expect(approval).toMatchObject({ kind: 'approval', toolName: `mcp__hotel__${tool}` })
  await session.answer(approval!, { decision: 'approve' })
  return { session, toolCallId: approval!.toolCallId }
}

describe.concurrent('what an MCP server asks', () => {
  it('is a form at the call that it belongs to, and the server gets the values', async () => {
    const told = [/"action":"accept"/, /"name":"Ada".*"nights":3/, /"quiet, at the back"/]
    const { session, toolCallId } = await calling('book', 'book a room', told)
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

  it('is still there after a restart, and the model is told the values', async () => {
    const { session } = await calling('book', 'book over a restart', [])
    const [form] = await session.pending()
    await session.close()
    endpoint.add({
      when: 'The user has filled in the form',
      steps: [{ told: ['mcp__hotel__book', '"name":"Grace"'], say: [{ text: 'Booked.' }] }],
    })
    const next = await claudeSession({ url: endpoint.url, agent: { mcpServers: { hotel } }, before: session })
    expect((await next.pending())[0]).toMatchObject({ kind: 'form', interactionId: form!.interactionId })
    await next.answer(form!, { values: { name: 'Grace', nights: 1 } })
    expect(await next.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    await next.close()
  })

  it('is cancelled, not declined, when nobody answers it', async () => {
    const { session } = await calling('book', 'book and cancel', [/"action":"cancel"/])
    const [form] = await session.pending()
    await session.host.desk.cancel({ sessionId: session.sessionId, interactionId: form!.interactionId })
    expect((await session.until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    await session.close()
  })

  it.each([
    ['Done', 'accept'],
    ['Decline', 'decline'],
  ])('is a page to open, which %s answers with %s', async (label, action) => {
    const told = [new RegExp(`"action":"${action}"`)]
    const { session } = await calling('login', `log in and ${action}`, told)
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'question' })
    expect(JSON.stringify(item!.request)).toContain('https://hotel.example/login')
    await session.answer(item!, { answers: [{ selected: [label] }] })
    await session.until('turn_ended')
    await session.close()
  })

  it('never becomes a form if it is a secret: what is typed there stays in the log', async () => {
    const { session } = await calling('secret', 'tell a secret', ['Invalid elicitation request'])
    await session.until('turn_ended')
    expect((await session.of('interaction_request')).map(({ kind }) => kind)).toEqual(['approval'])
    await session.close()
  })
})
