import { demoAgent, type Script } from '@askback/agents/demo'
import { memoryStore, type Store } from '@askback/core'
import { startTestGateway, type TestGateway } from '@askback/gateway/testing'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { bundle, workFolder } from '../durability/bundle.js'
import { Child } from '../durability/child-process.js'
import { createAguiClient, type AguiClient } from './ag-ui-client.js'

/** Everything that a session can show, and requests of each kind. */
const script: Script = {
  turns: [
    {
      on: 'deploy',
      steps: [
        { do: 'think', text: 'I should ask first.' },
        { do: 'say', text: 'I will deploy it.' },
        { do: 'tool', toolName: 'Read', input: { path: 'a.txt' }, output: 'the text' },
        {
          do: 'together',
          steps: [
            { do: 'approve', name: 'a', toolName: 'deploy', input: { version: 'a' }, output: 'deployed a' },
            { do: 'approve', name: 'b', toolName: 'deploy', input: { version: 'b' }, output: 'deployed b' },
          ],
        },
        { do: 'say', text: 'a: {{a}}, b: {{b}}.{{b.reason}}' },
        {
          do: 'ask',
          name: 'region',
          questions: [
            {
              header: 'Region',
              question: 'Which region?',
              options: [{ label: 'Europe' }],
              multiSelect: false,
            },
          ],
        },
        { do: 'say', text: 'It is in {{region}}.' },
      ],
    },
    { on: 'fail', steps: [{ do: 'fail', message: 'The disk is full.' }] },
  ],
}

let store: Store
let gateway: TestGateway
beforeEach(async () => {
  store = memoryStore()
  gateway = await start()
})
afterEach(async () => {
  await gateway.close()
  await store.close()
})

function start(port?: number): Promise<TestGateway> {
  return startTestGateway({
    store,
    agents: [demoAgent({ script, paceMs: 1 })],
    // After an abort the client's fetch opens a connection that it does not use, for which a gateway waits this long.
    config: { drainMs: 200 },
    ...(port !== undefined && { listen: { port } }),
  })
}

function client(threadId: string): Promise<AguiClient> {
  return createAguiClient({ url: `${gateway.url}/api/agui`, token: gateway.token, threadId })
}

const approve = (interruptId: string) => ({
  interruptId,
  status: 'resolved',
  payload: { decision: 'approve' },
})
const deny = (interruptId: string, message: string) => ({
  interruptId,
  status: 'resolved',
  payload: { decision: 'deny', message },
})
const europe = (interruptId: string) => ({
  interruptId,
  status: 'resolved',
  payload: { answers: [{ selected: ['Europe'] }] },
})

it('a run streams, stops at what a person must decide, and resumes with the answers', async () => {
  const agent = await client('first')
  const first = await agent.say('Deploy it.')
  expect(first.types).toEqual(
    expect.arrayContaining([
      'REASONING_MESSAGE_CONTENT',
      'TEXT_MESSAGE_CONTENT',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_RESULT',
    ]),
  )
  expect(first.deltas('TEXT_MESSAGE_CONTENT').length).toBeGreaterThan(2)
  expect(agent.messages()).toMatchObject([
    { role: 'user', content: 'Deploy it.' },
    { role: 'reasoning', content: 'I should ask first.' },
    { role: 'assistant', content: 'I will deploy it.' },
    { role: 'assistant', toolCalls: [{ function: { name: 'Read', arguments: '{"path":"a.txt"}' } }] },
    { role: 'tool', content: 'the text' },
    { role: 'assistant', toolCalls: [{ function: { name: 'deploy' } }] },
    { role: 'assistant', toolCalls: [{ function: { name: 'deploy' } }] },
  ])
  const [a, b] = agent.interrupts()
  expect(agent.interrupts()).toMatchObject([{ reason: 'tool_call' }, { reason: 'tool_call' }])

  await agent.resume([approve(a!.id), deny(b!.id, 'Not this one.')])
  expect(agent.messages()).toContainEqual(
    expect.objectContaining({
      role: 'assistant',
      content: 'a: approved, b: denied. You said: “Not this one.”.',
    }),
  )
  const [question] = agent.interrupts()
  expect(question).toMatchObject({ reason: 'input_required', message: 'Which region?' })

  const last = await agent.resume([europe(question!.id)])
  expect(last.outcome()).toEqual({ type: 'success' })
  expect(agent.interrupts()).toEqual([])
  expect(agent.messages().at(-1)).toMatchObject({ content: 'It is in Europe.' })
})

it('two tabs show the same, and the slower answer learns of the faster one', async () => {
  const one = await client('tabs')
  const started = await one.say('Deploy it.')
  const two = await client(started.sessionId())
  await two.look()
  expect(two.messages()).toEqual(one.messages())
  expect(two.interrupts()).toEqual(one.interrupts())
  const [a, b] = one.interrupts()
  await one.resume([approve(a!.id), approve(b!.id)])
  const late = await two.resume([
    deny(a!.id, 'No.'),
    deny(b!.id, 'No.'),
    ...one.interrupts().map(({ id }) => europe(id)),
  ])
  expect(late.customs('askback.already_settled')).toMatchObject([
    { interruptId: a!.id, settlement: 'approved', by: { name: 'Ada' } },
    { interruptId: b!.id, settlement: 'approved' },
  ])
  expect(late.outcome()).toEqual({ type: 'success' })
  expect(two.messages().at(-1)).toMatchObject({ content: 'It is in Europe.' })
})

it('a client that aborts a run stops nothing, and sees the rest when it runs again', async () => {
  const agent = await client('aborted')
  const aborted = agent.say('Deploy it.')
  await agent.received('TEXT_MESSAGE_START')
  agent.abort()
  await aborted
  const again = await client('aborted')
  await again.look()
  expect(again.interrupts()).toHaveLength(2)
  expect(again.messages()[0]).toMatchObject({ role: 'user', content: 'Deploy it.' })
})

it('a gateway that goes away ends the run, and the next one continues it', async () => {
  const agent = await client('restart')
  await agent.say('Deploy it.')
  const [a, b] = agent.interrupts()
  const port = Number(new URL(gateway.url).port)
  await gateway.close()
  gateway = await start(port)
  await agent.resume([approve(a!.id), approve(b!.id)])
  const [question] = agent.interrupts()
  expect(question).toMatchObject({ message: 'Which region?' })
  const last = await agent.resume([europe(question!.id)])
  expect(last.outcome()).toEqual({ type: 'success' })
})

it('a gateway that stops in the middle of a run says so, and the thread continues', async () => {
  const agent = await client('stopped')
  const stopped = agent.say('Deploy it.')
  await agent.received('TEXT_MESSAGE_START')
  const port = Number(new URL(gateway.url).port)
  await gateway.close()
  expect((await stopped).failure()).toBe('The gateway is going away. Run again: nothing is lost.')
  gateway = await start(port)
  const again = await client('stopped')
  await again.look()
  expect(again.messages().filter(({ role }) => role === 'user')).toHaveLength(1)
  // A turn without a request does not survive its gateway.
  await again.say('Deploy it, please.')
  expect(again.interrupts()).toHaveLength(2)
})

it('[L10] a gateway that is killed while a run waits takes the answer when it is back', async () => {
  const { folder, remove } = workFolder()
  const program = await bundle(new URL('programs/gateway.ts', import.meta.url), folder)
  const spawn = () =>
    new Child<{ port: number }, { url: string; token: string }>(program, {
      ASKBACK_TEST_FILE: join(folder, 'log.db'),
    })
  const first = spawn()
  const { url, token } = await first.call({ port: 0 })
  const agent = await createAguiClient({ url: `${url}/api/agui`, token, threadId: 'killed' })
  await agent.say('Deploy it.')
  const [interrupt] = agent.interrupts()
  await first.kill()
  const second = spawn()
  await second.call({ port: Number(new URL(url).port) })
  const last = await agent.resume([approve(interrupt!.id)])
  expect(last.outcome()).toEqual({ type: 'success' })
  expect(agent.messages().at(-1)).toMatchObject({ content: 'It was approved.' })
  await second.kill()
  remove()
})

it('an agent that fails ends the run with its error', async () => {
  const agent = await client('failing')
  expect((await agent.say('Fail, please.')).failure()).toContain('The disk is full.')
})
