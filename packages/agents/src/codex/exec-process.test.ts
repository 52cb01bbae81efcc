import type { AgentContext, Reported } from '@askback/core'
import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { expect, it } from 'vitest'
import type { AgentChild } from '../program/child.js'
import { ExecProcess } from './exec-process.js'

/** A program that is gone at once when it is killed, and whose pipe ends when the test says so. */
function program() {
  const stdout = new PassThrough()
  let exit = () => {}
  const gone = new Promise<void>((resolve) => (exit = resolve))
  const child = {
    process: { stdout },
    gone,
    outputRead: Promise.all([gone, finished(stdout)]),
    complaint: '',
    ending: ' was killed',
    kill: async () => exit(),
  } as unknown as AgentChild
  return {
    child,
    say: (event: object) => stdout.write(`${JSON.stringify(event)}\n`),
    end() {
      exit()
      stdout.end()
    },
  }
}

function session() {
  const reported: Reported[] = []
  const started: ReturnType<typeof program>[] = []
  const context = {
    sessionId: 's',
    agentSessionId: null,
    permissionMode: 'default',
    model: null,
    resume: null,
    report: async (...events: Reported[]) => void reported.push(...events),
  } as unknown as AgentContext
  const agent = new ExecProcess(context, {
    codexHome: '/nowhere',
    newId: () => 'id',
    async start() {
      const one = program()
      started.push(one)
      return one.child
    },
  })
  const ends = () => reported.filter(({ type }) => type === 'turn_ended')
  return { agent, started, reported, ends }
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 20))

it('what an interrupted program leaves behind does not reach the next turn', async () => {
  const { agent, started, reported, ends } = session()
  await agent.send({ text: 'one', turnId: 't1' })
  await agent.interrupt()
  expect(ends()).toMatchObject([{ turnId: 't1', reason: 'interrupted' }])

  await agent.send({ text: 'two', turnId: 't2' })
  const [first, second] = started
  first!.say({ type: 'item.completed', item: { id: '1', type: 'agent_message', text: 'too late' } })
  first!.end()
  await settled()
  second!.say({ type: 'item.completed', item: { id: '1', type: 'agent_message', text: 'in time' } })
  second!.say({ type: 'turn.completed' })
  second!.end()
  await expect.poll(ends).toMatchObject([{ turnId: 't1' }, { turnId: 't2', reason: 'done' }])
  expect(reported.filter(({ type }) => type === 'text')).toMatchObject([{ turnId: 't2', text: 'in time' }])
})

it('a program that starts while its turn is interrupted is ended', async () => {
  const { agent, started, ends } = session()
  const sent = agent.send({ text: 'one', turnId: 't1' })
  await agent.interrupt()
  await sent
  expect(ends()).toMatchObject([{ turnId: 't1', reason: 'interrupted' }])
  await started[0]!.child.gone
  await agent.send({ text: 'two', turnId: 't2' })
  expect(started).toHaveLength(2)
})
