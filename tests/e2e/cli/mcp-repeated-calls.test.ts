import {
  isInputRequiredResult,
  type CallToolResult,
  type Client,
  type InputRequiredResult,
} from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { at, portToKeep, serve } from '../http/gateways.js'
import { interactionOf, picks, sharedGateway } from './asking.js'
import { connectNewest } from './mcp-2026-clients.js'
import { BRIEF_WAIT_MS, nextPending, respond, type How } from './mcp-clients.js'

const shared = sharedGateway()
const waitMs = BRIEF_WAIT_MS
const asks = { questions: [{ question: 'Which?', options: [{ label: 'a' }, { label: 'b' }] }] }
const deploy = { tool: 'deploy', input: { to: 'production' } }

/** One round: the result, or the state with which to repeat the call. */
async function round(
  client: Client,
  name: string,
  given: Record<string, unknown>,
  requestState?: string,
): Promise<{ text: string; state: string }> {
  const result: CallToolResult | InputRequiredResult = await client.callTool(
    { name, arguments: given, ...(requestState !== undefined && { requestState }) },
    { allowInputRequired: true },
  )
  if (isInputRequiredResult(result)) return { text: '', state: result.requestState! }
  const [content] = result.content
  return { text: content?.type === 'text' ? content.text : '', state: '' }
}

describe.each<How>(['stdio', 'http'])(
  'a client of 2026-07-28 repeats a call that is pending, by %s',
  (how) => {
    it('by itself, until a person answers', async () => {
      const client = await connectNewest(how, shared(), { waitMs })
      let rounds = 0
      const options = { timeout: 3000, onprogress: () => (rounds += 1) }
      const asked = client.callTool({ name: 'ask_user', arguments: asks }, options)
      const item = await nextPending(shared())
      // One for each round, and one for each time that the server says that it waits.
      await expect.poll(() => rounds, { timeout: 5000 }).toBeGreaterThan(4)
      await respond(shared(), item, picks('b'))
      expect(await asked).toMatchObject({ content: [{ text: '"Which?" = "b"' }] })
      const { body } = await shared().call<{ interactions: unknown[] }>('GET', '/api/interactions')
      expect(body.interactions).toEqual([])
    })

    it('and the model is asked to wait before the client has repeated it too often', async () => {
      const client = await connectNewest(how, shared(), { waitMs: 20 })
      const result = await client.callTool({ name: 'ask_user', arguments: asks })
      expect(result).toMatchObject({
        content: [{ text: expect.stringContaining('Still waiting') as unknown }],
      })
      const item = await nextPending(shared())
      await respond(shared(), item, picks('a'))
      const id = item.interactionId
      expect(await client.callTool({ name: 'wait_for_answer', arguments: { id } })).toMatchObject({
        content: [{ text: '"Which?" = "a"' }],
      })
    })

    it('[L10] and gets an approval once, however often it sends the same state', async () => {
      const client = await connectNewest(how, shared(), { waitMs })
      const { state } = await round(client, 'request_approval', deploy)
      await respond(shared(), await nextPending(shared()), { decision: 'approve' })
      expect((await round(client, 'request_approval', deploy, state)).text).toContain('Approved')
      expect((await round(client, 'request_approval', deploy, state)).text).toContain('may have run already')
    })

    it('and a state that it forged, or that belongs to another call, is refused', async () => {
      const client = await connectNewest(how, shared(), { waitMs })
      const { state } = await round(client, 'request_approval', deploy)
      const [version, body, mac] = state.split('.') as [string, string, string]
      const payload = JSON.parse(Buffer.from(body, 'base64url').toString()) as {
        p: { interactionId: string }
      }
      expect(payload.p.interactionId).toBe((await nextPending(shared())).interactionId)
      const forged = Buffer.from(JSON.stringify({ ...payload, p: { ...payload.p, round: -100 } }))
      const refused = { code: -32602 }
      for (const given of [
        `${version}.${forged.toString('base64url')}.${mac}`,
        `${version}.${body}.`,
        'x',
        '',
      ])
        await expect(round(client, 'request_approval', deploy, given)).rejects.toMatchObject(refused)
      const other = { ...deploy, input: { to: 'test' } }
      await expect(round(client, 'request_approval', other, state)).rejects.toMatchObject(refused)
      await expect(round(client, 'review_plan', { plan: 'Go.' }, state)).rejects.toMatchObject(refused)
      await shared().call('DELETE', at(await nextPending(shared())))
    })
  },
)

it('the state of one credential is refused for another', async () => {
  const agent = await connectNewest('http', shared(), { waitMs })
  const person = await connectNewest('http', shared(), { waitMs, token: shared().ready.token })
  const { state } = await round(agent, 'ask_user', asks)
  await expect(round(person, 'ask_user', asks, state)).rejects.toMatchObject({ code: -32602 })
  await shared().call('DELETE', at(await nextPending(shared())))
})

it.each<How>(['stdio', 'http'])(
  'continues after a restart of the gateway and of the server by %s',
  async (how) => {
    const port = await portToKeep()
    const gateway = await serve({ port })
    const { state } = await round(await connectNewest(how, gateway, { waitMs }), 'ask_user', asks)
    const { interactionId } = await nextPending(gateway)
    await gateway.stop('SIGKILL')
    const next = await serve({ data: gateway.data, port })
    const client = await connectNewest(how, next, { waitMs })
    const again = await round(client, 'ask_user', asks, state)
    expect(again.text).toBe('')
    await respond(next, await interactionOf(next, interactionId), picks('a'))
    expect((await round(client, 'ask_user', asks, again.state)).text).toContain('"a"')
  },
)
