import { AskbackError } from '@askback/protocol'
import { expect, it } from 'vitest'
import { createDesk } from '../desk/desk.js'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'
import type { AgentAdapter, LiveDelta, AgentEnd } from './agent.js'
import { createHost } from './host.js'

const me = { by: { id: 'me' }, via: 'direct' } as const
const lost: AgentEnd = { how: 'lost', message: 'Killed.' }
const question = {
  questions: [{ header: 'Go', question: 'Go on?', options: [{ label: 'Yes' }], multiSelect: false }],
}
const output: LiveDelta = { type: 'tool_output_delta', toolCallId: 'c1', text: 'compiling…' }

/** An agent that runs a call, reports a part of its output, and asks about it. */
async function asking(delta: LiveDelta) {
  const inner = memoryStore()
  const failures: AskbackError[] = []
  const store: Store = {
    ...inner,
    append: (append) => {
      const failure = failures.shift()
      return failure ? Promise.reject(failure) : inner.append(append)
    },
  }
  const errors: unknown[] = []
  const ends: ((ending: AgentEnd) => void)[] = []
  const adapter: AgentAdapter = {
    id: 'scripted',
    name: 'Scripted',
    check: async () => ({ available: true }),
    async start(context) {
      let end = (_: AgentEnd) => {}
      const ended = new Promise<AgentEnd>((resolve) => (end = resolve))
      ends.push(end)
      return {
        ended,
        async send({ turnId }) {
          if (context.resume) return
          await context.report({ type: 'tool_call', toolCallId: 'c1', toolName: 'Bash', input: {}, turnId })
          context.live(delta)
          context.session.ask({ ...question, toolCallId: 'c1' }).catch(() => {})
        },
        interrupt: async () => {},
        setPermissionMode: async () => {},
        stop: async () => end({ how: 'stopped' }),
      }
    },
  }
  const desk = createDesk({ store })
  const host = createHost({ desk, agents: [adapter], onError: (error) => errors.push(error) })
  await host.ready
  const sessionId = (await host.createSession({})).session.id
  await host.as(me).message({ sessionId, text: 'go' })
  await expect.poll(async () => (await inner.pending({ sessionId, limit: 1 })).items.length).toBe(1)
  const [item] = (await inner.pending({ sessionId, limit: 1 })).items
  const of = async (type: string) =>
    (await inner.read({ sessionId, limit: 100 })).filter((event) => event.type === type)
  const answer = () =>
    desk.as(me).respond({ interactionId: item!.interactionId, answer: { answers: [{ selected: ['Yes'] }] } })
  return { host, sessionId, ends, errors, failures, of, answer }
}

it('[L8] a lost agent cancels nothing, even if its call had output', async () => {
  const { host, ends, errors, of, answer } = await asking(output)
  ends[0]!(lost)
  await expect.poll(() => of('error')).toMatchObject([{ code: 'agent_lost' }])
  expect(await of('interaction_response')).toEqual([])
  await answer()
  // [L10] The answer starts the agent again.
  await expect.poll(() => ends.length).toBe(2)
  await host.close()
  expect(errors).toEqual([])
})

it('[L8] a drain cancels nothing', async () => {
  const { host, of } = await asking(output)
  await host.close()
  expect(await of('interaction_response')).toEqual([])
  expect(await of('tool_result')).toEqual([])
})

it('an interrupt keeps the output of the call', async () => {
  const { host, sessionId, of } = await asking(output)
  await host.as(me).interrupt(sessionId)
  expect(await of('interaction_response')).toMatchObject([{ settlement: 'cancelled' }])
  expect(await of('tool_result')).toMatchObject([{ output: 'compiling…', partial: true }])
  await host.close()
})

it('[L10] an answer reaches the agent even if an unfinished block ends inside a character', async () => {
  const { host, ends, errors, of, answer } = await asking({
    type: 'text_delta',
    blockId: 'b',
    text: 'Fine \ud83d',
  })
  ends[0]!(lost)
  await expect.poll(() => of('error')).toMatchObject([{ code: 'agent_lost' }])
  expect(await of('text')).toMatchObject([{ text: 'Fine \ufffd', partial: true }])
  await answer()
  await expect.poll(() => ends.length).toBe(2)
  await host.close()
  expect(errors).toEqual([])
})

it('[L10] an answer reaches the agent even if an unfinished block cannot be stored, which is reported', async () => {
  const { host, ends, errors, failures, of, answer } = await asking({
    type: 'text_delta',
    blockId: 'b',
    text: 'Fine',
  })
  const full = new AskbackError('unavailable', 'The disk is full.')
  failures.push(full)
  ends[0]!(lost)
  await expect.poll(() => of('error')).toMatchObject([{ code: 'agent_lost' }])
  await answer()
  await expect.poll(() => ends.length).toBe(2)
  await host.close()
  expect(errors).toEqual([full])
})
