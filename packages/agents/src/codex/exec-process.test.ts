import type { AgentContext, ReportedEvent } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { expect, it } from 'vitest'
import type { ChildProgram } from '../program/child-program.js'
import { ExecProcess } from './exec-process.js'

/** A program that exits as soon as it is killed. Its output ends when the test calls `end`. */
function fakeProgram() {
  const stdout = new PassThrough()
  let exit = () => {}
  const exited = new Promise<void>((resolve) => (exit = resolve))
  const child = {
    process: { stdout },
    exited,
    outputRead: Promise.all([exited, finished(stdout)]),
    stderr: '',
    endedHow: ' was killed',
    kill: async () => exit(),
  } as unknown as ChildProgram
  return {
    child,
    print: (event: object) => stdout.write(`${JSON.stringify(event)}\n`),
    end() {
      exit()
      stdout.end()
    },
  }
}

function startSession() {
  const reported: ReportedEvent[] = []
  const started: ReturnType<typeof fakeProgram>[] = []
  const context = {
    sessionId: 's',
    agentSessionId: null,
    permissionMode: 'default',
    model: null,
    resume: null,
    report: async (...events: ReportedEvent[]) => void reported.push(...events),
  } as unknown as AgentContext
  const agent = new ExecProcess(context, {
    codexHome: '/nowhere',
    clock: fakeClock(),
    newId: () => 'id',
    async start() {
      const program = fakeProgram()
      started.push(program)
      return program.child
    },
  })
  const ends = () => reported.filter(({ type }) => type === 'turn_ended')
  return { agent, started, reported, ends }
}

it('ignores what an interrupted program still prints in the next turn', async () => {
  const { agent, started, reported, ends } = startSession()
  await agent.send({ text: 'one', turnId: 't1' })
  await agent.interrupt()
  expect(ends()).toMatchObject([{ turnId: 't1', reason: 'interrupted' }])

  await agent.send({ text: 'two', turnId: 't2' })
  const [first, second] = started
  first!.print({ type: 'item.completed', item: { id: '1', type: 'agent_message', text: 'too late' } })
  first!.end()
  await first!.child.outputRead
  second!.print({ type: 'item.completed', item: { id: '1', type: 'agent_message', text: 'in time' } })
  second!.print({ type: 'turn.completed' })
  second!.end()
  await expect.poll(ends).toMatchObject([{ turnId: 't1' }, { turnId: 't2', reason: 'done' }])
  expect(reported.filter(({ type }) => type === 'text')).toMatchObject([{ turnId: 't2', text: 'in time' }])
})

it('ends a program that starts while its turn is interrupted', async () => {
  const { agent, started, ends } = startSession()
  const sent = agent.send({ text: 'one', turnId: 't1' })
  await agent.interrupt()
  await sent
  expect(ends()).toMatchObject([{ turnId: 't1', reason: 'interrupted' }])
  await started[0]!.child.exited
  await agent.send({ text: 'two', turnId: 't2' })
  expect(started).toHaveLength(2)
})
