import { taskId as asTaskId } from '@modelcontextprotocol/ext-tasks/core'
import { resultFromTaskOutcome, type ToolExecution } from '@modelcontextprotocol/ext-tasks/client'
import { describe, expect, it } from 'vitest'
import { at, portToKeep, serve } from '../http/gateways.js'
import { interactionOf, picks, sharedGateway } from './asking.js'
import { nextPending, respond, type How } from './mcp-clients.js'
import { connectTasks } from './mcp-task-clients.js'

const shared = sharedGateway()
const asks = { questions: [{ question: 'Which?', options: [{ label: 'a' }, { label: 'b' }] }] }
const deploy = { tool: 'deploy', input: { to: 'production' } }
type Execution = Extract<ToolExecution<unknown>, { kind: 'task' }>

function taskOf(execution: ToolExecution<unknown>): Execution {
  if (execution.kind !== 'task') throw new Error('The result came at once.')
  return execution
}

async function textOf(execution: Execution): Promise<string> {
  return textIn(resultFromTaskOutcome((await execution.settle()).outcome))
}

function textIn(result: unknown): string {
  return (result as { content: { text: string }[] }).content[0]!.text
}

describe.each<How>(['stdio', 'http'])('a call as a task, by %s', (how) => {
  it('waits as long as the person takes, and returns the answer', async () => {
    const session = await connectTasks(how, shared())
    const task = taskOf(await session.callTool('ask_user', asks))
    const item = await nextPending(shared())
    expect(task.handle.taskId).toBe(item.interactionId)
    expect(await session.task(task.handle.taskId).snapshot()).toMatchObject({
      status: 'working',
      statusMessage: 'Waiting for a person to answer',
      retentionMs: null,
      suggestedPollIntervalMs: 2000,
    })
    await respond(shared(), item, picks('b'))
    expect(await textOf(task)).toBe('"Which?" = "b"')
  })

  it('[L10] returns an approval to one of two clients', async () => {
    const session = await connectTasks(how, shared())
    const { taskId } = taskOf(await session.callTool('request_approval', deploy)).handle
    await respond(shared(), await nextPending(shared()), { decision: 'approve' })
    const other = await connectTasks(how, shared())
    const outcomes = [await other.task(taskId).result(), await session.task(taskId).result()]
    expect(outcomes.map((outcome) => textIn(resultFromTaskOutcome(outcome)))).toEqual([
      'Approved, this once, exactly as asked.',
      expect.stringContaining('may have run already') as unknown,
    ])
  })

  it('is cancelled with its request, from both sides', async () => {
    const session = await connectTasks(how, shared())
    const task = taskOf(await session.callTool('ask_user', asks))
    const { interactionId } = await nextPending(shared())
    await task.cancel()
    expect(await interactionOf(shared(), interactionId)).toMatchObject({ settlement: 'cancelled' })
    const { taskId } = taskOf(await session.callTool('ask_user', asks)).handle
    await shared().call('DELETE', at(await nextPending(shared())))
    expect(await session.task(taskId).snapshot()).toMatchObject({
      status: 'cancelled',
      statusMessage: expect.stringContaining('do not assume') as unknown,
    })
  })

  it('that is settled cannot be cancelled or updated, which changes nothing', async () => {
    const session = await connectTasks(how, shared())
    const { taskId } = taskOf(await session.callTool('ask_user', asks)).handle
    await respond(shared(), await nextPending(shared()), picks('a'))
    const task = session.task(taskId)
    await task.cancel()
    await task.update({ answer: { action: 'accept', content: { which: 'b' } } })
    expect(textIn(resultFromTaskOutcome(await task.result()))).toContain('"a"')
    expect(await interactionOf(shared(), taskId)).toMatchObject({
      settlement: 'answered',
      by: { id: 'owner' },
    })
  })

  it('cannot be answered by its client: input that nobody asked for is ignored', async () => {
    const session = await connectTasks(how, shared())
    const { taskId } = taskOf(await session.callTool('request_approval', deploy)).handle
    const forged = { action: 'accept' as const, content: { decision: 'approve' } }
    await session.task(taskId).update({ answer: forged, decision: forged, [taskId]: forged })
    expect(await session.task(taskId).snapshot()).toMatchObject({ status: 'working' })
    await session.task(taskId).cancel()
  })

  it('is unknown to a client with another credential, like one that does not exist', async () => {
    const unknown = { code: -32602 }
    const session = await connectTasks(how, shared())
    const missing = session.task(asTaskId('missing'))
    await expect(missing.snapshot()).rejects.toMatchObject(unknown)
    await expect(missing.cancel()).rejects.toMatchObject(unknown)
    await expect(missing.update({})).rejects.toMatchObject(unknown)
    const { taskId } = taskOf(await session.callTool('ask_user', asks)).handle
    const person = await connectTasks('http', shared(), { token: shared().ready.token })
    await expect(person.task(taskId).snapshot()).rejects.toMatchObject(unknown)
    await expect(person.task(taskId).cancel()).rejects.toMatchObject(unknown)
    expect(await interactionOf(shared(), taskId)).toMatchObject({ status: 'pending' })
    await session.task(taskId).cancel()
  })

  it('survives the server, the client and the gateway', async () => {
    const port = await portToKeep()
    const gateway = await serve({ port })
    const first = await connectTasks(how, gateway)
    const task = taskOf(await first.callTool('request_approval', deploy))
    const reference = task.serializeReference()
    await task.detach()
    await gateway.stop('SIGKILL')
    const next = await serve({ data: gateway.data, port })
    const resumed = taskOf(await (await connectTasks(how, next)).resumeTask(reference))
    await resumed.detach()
    await respond(next, await nextPending(next), { decision: 'approve' })
    await next.stop('SIGKILL')
    const last = await serve({ data: gateway.data, port })
    expect((await interactionOf(last, resumed.handle.taskId)).delivered).toBeUndefined()
    const again = taskOf(await (await connectTasks(how, last)).resumeTask(reference))
    expect(await textOf(again)).toBe('Approved, this once, exactly as asked.')
  })
})

it('a task that its client never polls ends at its deadline', async () => {
  const session = await connectTasks('stdio', shared(), { args: ['--timeout', '200ms'] })
  const { taskId } = taskOf(await session.callTool('request_approval', deploy)).handle
  await expect.poll(() => interactionOf(shared(), taskId)).toMatchObject({ settlement: 'timed_out' })
  const result = resultFromTaskOutcome(await session.task(taskId).result())
  expect(textIn(result)).toContain('Nobody answered in time')
})

it('a call that a rule decides has its result at once', async () => {
  const session = await connectTasks('http', shared())
  const task = taskOf(await session.callTool('request_approval', deploy))
  await respond(shared(), await nextPending(shared()), { decision: 'approve', scope: 'session' })
  await task.settle()
  const execution = await session.callTool('request_approval', deploy)
  expect(execution.kind).toBe('immediate')
  expect(textIn(resultFromTaskOutcome(await execution.result()))).toContain('Approved')
})
