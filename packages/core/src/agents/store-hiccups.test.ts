import { AskbackError } from '@askback/protocol'
import { expect, it } from 'vitest'
import { createDesk } from '../desk/desk.js'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'
import type { AgentAdapter, AgentEnd } from './agent.js'
import { createHost } from './host.js'

const me = { by: { id: 'me' }, via: 'direct' } as const
const question = {
  questions: [{ header: 'Go', question: 'Go on?', options: [{ label: 'Yes' }], multiSelect: false }],
}
const away = () => Promise.reject(new AskbackError('unavailable', 'The database is away.'))

/** A store that fails while a test says so, and hosts on it whose agent asks if a test wants it. */
function faulty() {
  const inner = memoryStore()
  const fail = { appends: 0, snapshots: 0 }
  const store: Store = {
    ...inner,
    append: (append) => (fail.appends-- > 0 ? away() : inner.append(append)),
  }
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
        async send({ text }) {
          if (text === 'ask' && !context.resume)
            context.session.ask({ ...question, toolCallId: 'c1' }).catch(() => {})
        },
        interrupt: async () => {},
        setPermissionMode: async () => {},
        stop: async () => end({ how: 'stopped' }),
      }
    },
  }
  const start = () => {
    const desk = createDesk({ store })
    const snapshot = desk.snapshot.bind(desk)
    desk.snapshot = (...call) => (fail.snapshots-- > 0 ? away() : snapshot(...call))
    return createHost({ desk, agents: [adapter], onError: () => {} })
  }
  const types = async (sessionId: string) =>
    (await inner.read({ sessionId, limit: 100 })).map(({ type }) => type)
  return { inner, fail, ends, start, types }
}

/** A session whose host was closed during a turn. */
async function cut(text: string) {
  const test = faulty()
  const host = test.start()
  await host.ready
  const sessionId = (await host.createSession({})).session.id
  await host.as(me).message({ sessionId, text })
  await expect.poll(() => test.ends.length).toBe(1)
  if (text === 'ask')
    await expect.poll(async () => (await test.inner.pending({ sessionId, limit: 1 })).items.length).toBe(1)
  await host.close()
  return { ...test, sessionId }
}

it('a turn that a restart interrupted ends, although that could not be written at once', async () => {
  const { fail, start, types, sessionId } = await cut('go')
  fail.appends = 1
  const host = start()
  await host.ready
  await expect.poll(() => types(sessionId)).toContain('turn_ended')
  await host.close()
})

it('[L10] an answer starts an agent that a restart interrupted, although its session cannot be read at first', async () => {
  const { inner, fail, ends, start, sessionId } = await cut('ask')
  const host = start()
  await host.ready
  const [item] = (await inner.pending({ sessionId, limit: 1 })).items
  const answer = { answers: [{ selected: ['Yes'] }] }
  const stop = host.desk.on(() => (fail.snapshots = 1))
  await host.desk.as(me).respond({ interactionId: item!.interactionId, answer })
  stop()
  await expect.poll(() => ends.length).toBe(2)
  await host.close()
})

it('a turn whose agent is lost ends, although that could not be written at once', async () => {
  const { fail, ends, start, types } = faulty()
  const host = start()
  await host.ready
  const sessionId = (await host.createSession({})).session.id
  await host.as(me).message({ sessionId, text: 'go' })
  await expect.poll(() => ends.length).toBe(1)
  fail.appends = 1
  ends[0]!({ how: 'lost', message: 'Killed.' })
  await expect.poll(() => types(sessionId)).toContain('turn_ended')
  await host.close()
})
