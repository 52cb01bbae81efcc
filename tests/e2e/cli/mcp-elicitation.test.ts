import type { ElicitResult } from '@modelcontextprotocol/client'
import { resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, afterAll, expect, it } from 'vitest'
import { Command, newFolder } from '../http/command.js'
import { at, RunningGateway } from '../http/gateways.js'
import { interactionOf, picks, sharedGateway } from './asking.js'
import { connectNewest } from './mcp-2026-clients.js'
import { BRIEF_WAIT_MS as waitMs, nextPending, respond } from './mcp-clients.js'
import { connectTasks } from './mcp-task-clients.js'

/** A gateway whose operator has not turned elicitation on. */
const usual = sharedGateway()
let gateway: RunningGateway
beforeAll(async () => {
  const data = newFolder()
  writeFileSync(join(data, 'config.json'), JSON.stringify({ mcp: { elicitation: true } }))
  const command = new Command(['serve', '--port', '0', '--data', data, '--json'])
  gateway = new RunningGateway(command, data, await command.ready())
})
afterAll(() => gateway.stop('SIGKILL'))

const asks = {
  questions: [
    { question: 'Which?', header: 'DB', options: [{ label: 'a', description: 'A file' }, { label: 'b' }] },
    { question: 'Which of these?', options: [{ label: 'x' }, { label: 'y, z' }], multiSelect: true },
    { question: 'Why?' },
  ],
}
const entered = { question1: 'b', question2: ['x', 'y, z'], other2: 'w', question3: 'Because' }
const answer = {
  answers: [{ selected: ['b'] }, { selected: ['x', 'y, z'], other: 'w' }, { selected: [], other: 'Because' }],
}

/** A client whose user reacts like this to each form. */
async function clientWith(react: () => Promise<ElicitResult> | ElicitResult, at = gateway) {
  const forms: unknown[] = []
  const client = await connectNewest('http', at, { waitMs, capabilities: { elicitation: {} } })
  client.setRequestHandler('elicitation/create', ({ params }) => {
    forms.push(params)
    return react()
  })
  const call = async (name: string, given: Record<string, unknown>) =>
    (await client.callTool({ name, arguments: given }, { timeout: 5000 })) as { content: { text: string }[] }
  return { forms, call }
}

it('the user of the client answers a question in its form, in the name of the client', async () => {
  const { forms, call } = await clientWith(() => ({ action: 'accept', content: entered }))
  const { content } = await call('ask_user', asks)
  expect(content[0]?.text).toContain('"Which?" = "b"')
  expect(forms).toMatchObject([
    {
      message: 'Which?\nWhich of these?\nWhy?',
      requestedSchema: {
        properties: {
          question1: {
            type: 'string',
            title: 'DB',
            oneOf: [{ const: 'a', title: 'a: A file' }, { const: 'b' }],
          },
          question2: { type: 'array', items: { anyOf: [{ const: 'x' }, { const: 'y, z' }] } },
          question3: { type: 'string' },
        },
      },
    },
  ])
  const { body } = await gateway.call<{ items?: unknown[] }>('GET', '/api/audit')
  expect(JSON.stringify(body)).toContain('"mcp:agents"')
})

it('a form that is declined, or does not fit, leaves the question to others', async () => {
  for (const reaction of [
    { action: 'decline' as const },
    { action: 'cancel' as const },
    { action: 'accept' as const, content: { question1: 'neither' } },
  ]) {
    const { forms, call } = await clientWith(() => reaction)
    const asked = call('ask_user', asks)
    const item = await nextPending(gateway)
    await expect.poll(() => forms.length).toBe(1)
    await respond(gateway, item, answer)
    expect((await asked).content[0]?.text).toContain('"Why?" = "Because"')
    expect(await interactionOf(gateway, item.interactionId)).toMatchObject({ by: { id: 'owner' } })
    expect(forms).toHaveLength(1)
  }
})

it('somebody else who answers first wins, and the form of the client changes nothing', async () => {
  const { call } = await clientWith(async () => {
    await respond(gateway, await nextPending(gateway), answer)
    return { action: 'accept', content: { question1: 'a', question2: ['x'], question3: 'No' } }
  })
  expect((await call('ask_user', asks)).content[0]?.text).toContain('"Why?" = "Because"')
})

it.each([
  ['request_approval', { tool: 'deploy', input: {} }],
  ['review_plan', { plan: 'Go.' }],
])('%s is never left to the client', async (name, given) => {
  const { forms, call } = await clientWith(() => ({ action: 'accept', content: { decision: 'approve' } }))
  const asked = call(name, given)
  const item = await nextPending(gateway)
  await gateway.call('DELETE', at(item))
  expect((await asked).content[0]?.text).toContain('do not assume')
  expect(forms).toEqual([])
})

it('without the setting no client gets a form, and what it sends is ignored', async () => {
  const { forms, call } = await clientWith(() => ({ action: 'accept', content: entered }), usual())
  const asked = call('ask_user', asks)
  await respond(usual(), await nextPending(usual()), answer)
  expect((await asked).content[0]?.text).toContain('Because')
  expect(forms).toEqual([])
})

it('a task asks for input, and goes on with it', async () => {
  const session = await connectTasks('http', gateway, {
    capabilities: { elicitation: {} },
    onInput: () => ({ action: 'accept', content: entered }),
  })
  const execution = await session.callTool('ask_user', asks)
  const { outcome, lastTask } = await execution.settle()
  expect(JSON.stringify(resultFromTaskOutcome(outcome))).toContain('Because')
  expect(lastTask).toMatchObject({ status: 'completed' })
})

it('a task of an approval asks for no input, and takes none', async () => {
  const session = await connectTasks('http', gateway, { capabilities: { elicitation: {} } })
  const execution = await session.callTool('request_approval', { tool: 'deploy', input: {} })
  const task = session.task(execution.handle!.taskId)
  await task.update({ answer: { action: 'accept', content: { decision: 'approve' } } })
  expect(await task.snapshot()).toMatchObject({ status: 'working' })
  await execution.cancel()
})

it('a task whose client has no user to ask is answered by others', async () => {
  // Without a handler the client cancels each form.
  const session = await connectTasks('http', gateway, { capabilities: { elicitation: {} } })
  const execution = await session.callTool('ask_user', { questions: asks.questions.slice(0, 1) })
  const task = session.task(execution.handle!.taskId)
  expect(await task.snapshot()).toMatchObject({ status: 'input_required' })
  await respond(gateway, await nextPending(gateway), picks('a'))
  expect(JSON.stringify(resultFromTaskOutcome((await execution.settle()).outcome))).toContain('= \\"a\\"')
})
