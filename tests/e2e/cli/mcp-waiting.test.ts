import type { Interaction } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { at, portToKeep, serve } from '../http/gateways.js'
import { interactionOf, picks, sharedGateway } from './asking.js'
import {
  call,
  connect,
  connectBriefly,
  nextPending,
  respond,
  type How,
  type ToolCallResult,
} from './mcp-clients.js'

const shared = sharedGateway()
const asks = { questions: [{ question: 'Which?', options: [{ label: 'a' }, { label: 'b' }] }] }
const deploy = { tool: 'deploy', input: { to: 'production' } }
/** The client gives up after this time. The official client does so after 60 seconds. */
const impatient = { timeout: 3000 }

/** The id in a result that says “still waiting”. */
function idIn({ text }: ToolCallResult): string {
  expect(text).toContain('Still waiting')
  return /wait_for_answer with id "(\w+)"/.exec(text)![1]!
}

describe.each<How>(['stdio', 'http'])('a person who takes longer than the client waits, by %s', (how) => {
  const connectHere = () => connectBriefly(how, shared())

  it('answers after the call has ended, and nothing is lost', async () => {
    const client = await connectHere()
    const waits = await call(client, 'ask_user', asks, impatient)
    const id = idIn(waits)
    expect(waits).toMatchObject({ isError: false, interaction: { interactionId: id, status: 'pending' } })
    expect(idIn(await call(client, 'wait_for_answer', { id }, impatient))).toBe(id)
    const waiting = call(client, 'wait_for_answer', { id }, impatient)
    await respond(shared(), await interactionOf(shared(), id), picks('b'))
    const answer = { text: '"Which?" = "b"', interaction: { settlement: 'answered' } }
    const first = await waiting
    // The wait may have ended just before the answer.
    if (!first.text.includes('Still waiting')) expect(first).toMatchObject(answer)
    expect(await call(client, 'wait_for_answer', { id }, impatient)).toMatchObject(answer)
  })

  it('[L10] approves once: the approval is returned once, and after that it is uncertain', async () => {
    const client = await connectHere()
    const id = idIn(await call(client, 'request_approval', deploy, impatient))
    await respond(shared(), await interactionOf(shared(), id), { decision: 'approve' })
    const again = () => call(client, 'wait_for_answer', { id }, impatient)
    expect((await again()).text).toBe('Approved, this once, exactly as asked.')
    expect(await again()).toMatchObject({
      text: expect.stringContaining('may have run already') as unknown,
      interaction: { delivered: true },
    })
  })

  it('[L10] approves to one of two clients that wait for the same request', async () => {
    const client = await connectHere()
    const id = idIn(await call(client, 'request_approval', deploy, impatient))
    const item = await interactionOf(shared(), id)
    const both = [client, await connectHere()].map((each) => call(each, 'wait_for_answer', { id }, impatient))
    await respond(shared(), item, { decision: 'approve' })
    const texts = (await Promise.all(both)).map(({ text }) => text)
    texts.push((await call(client, 'wait_for_answer', { id }, impatient)).text)
    expect(texts.filter((text) => text.startsWith('Approved'))).toHaveLength(1)
  })

  it('still sees the request after the client gave up waiting', async () => {
    const client = await connectHere()
    const id = idIn(await call(client, 'ask_user', asks, impatient))
    const stop = new AbortController()
    const waiting = call(client, 'wait_for_answer', { id }, { signal: stop.signal })
    stop.abort()
    await expect(waiting).rejects.toThrow('abort')
    // Handled after the abort, because messages of a client are handled in order.
    expect(idIn(await call(client, 'wait_for_answer', { id }, impatient))).toBe(id)
    await respond(shared(), await interactionOf(shared(), id), picks('a'))
    expect((await call(client, 'wait_for_answer', { id }, impatient)).text).toContain('"a"')
  })

  it('decides for Claude Code as late as they like, because it takes nothing but a decision', async () => {
    const client = await connectHere()
    let isDecided = false
    const decides = call(client, 'permission_prompt', { tool_name: 'Bash', input: { command: 'make' } })
    void decides.finally(() => (isDecided = true))
    const prompt = await nextPending(shared())
    const id = idIn(await call(client, 'ask_user', asks, impatient))
    expect(isDecided).toBe(false)
    await shared().call('DELETE', at(await interactionOf(shared(), id)))
    await respond(shared(), prompt, { decision: 'approve' })
    expect(JSON.parse((await decides).text)).toMatchObject({ behavior: 'allow' })
  })

  it('is not asked for what others asked, or nobody', async () => {
    const client = await connectHere()
    const missing = { isError: true, text: expect.stringContaining('There is no') as unknown }
    expect(await call(client, 'wait_for_answer', { id: 'nothing' })).toMatchObject(missing)
    expect(await call(client, 'wait_for_answer', { id: 7 })).toMatchObject({ isError: true })
    const opened = await shared().call<{ interaction: Interaction }>(
      'POST',
      `/api/sessions/${await shared().session()}/interactions`,
      { body: { kind: 'approval', toolName: 'x', request: { input: {} } } },
    )
    const { interaction } = opened.body
    await respond(shared(), interaction, { decision: 'approve' })
    expect(await call(client, 'wait_for_answer', { id: interaction.interactionId })).toMatchObject(missing)
  })
})

it('a request of another session cannot be read by a client that is bound to one', async () => {
  const id = idIn(await call(await connectBriefly('http', shared()), 'ask_user', asks, impatient))
  const sessionId = await shared().session()
  const bound = await connectBriefly('http', shared(), `&session=${sessionId}`)
  expect(await call(bound, 'wait_for_answer', { id })).toMatchObject({ isError: true })
  await shared().call('DELETE', at(await interactionOf(shared(), id)))
})

it('a client that lost its ids finds its requests, in the next process and after a restart of the gateway', async () => {
  const port = await portToKeep()
  const gateway = await serve({ port })
  const first = await connectBriefly('stdio', gateway)
  const pending = idIn(await call(first, 'ask_user', asks, impatient))
  const settled = idIn(await call(first, 'request_approval', deploy, impatient))
  await first.close()
  await respond(gateway, await interactionOf(gateway, settled), { decision: 'approve' })
  await gateway.stop('SIGKILL')
  const next = await serve({ data: gateway.data, port })
  const client = await connectBriefly('stdio', next)
  const listed = async () => (await call(client, 'wait_for_answer', {})).text
  expect(await listed()).toMatch(new RegExp(`${settled}.*answered[^]*${pending}.*nobody has answered yet`))
  expect((await call(client, 'wait_for_answer', { id: settled })).text).toContain('Approved')
  await respond(next, await interactionOf(next, pending), picks('a'))
  expect((await call(client, 'wait_for_answer', { id: pending })).text).toContain('"a"')
  expect(await listed()).toContain('every answer has been returned')
})

it('a call ends in time although the gateway is away, and the answer comes after its restart', async () => {
  const port = await portToKeep()
  const gateway = await serve({ port })
  const client = await connect('stdio', gateway, ['--wait', '1500ms'])
  const asked = call(client, 'ask_user', asks, impatient)
  const { interactionId } = await nextPending(gateway)
  await gateway.stop('SIGKILL')
  expect(idIn(await asked)).toBe(interactionId)
  const next = await serve({ data: gateway.data, port })
  await respond(next, await interactionOf(next, interactionId), picks('a'))
  expect((await call(client, 'wait_for_answer', { id: interactionId })).text).toContain('"a"')
})
