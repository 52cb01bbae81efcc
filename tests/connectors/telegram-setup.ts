import { connectorDesk, runConnector, type RunningConnector } from '@askback/connectors'
import { telegramConnector, type TelegramConnector, type TelegramOptions } from '@askback/connectors/telegram'
import { createDesk, createHost, memoryStore, type AgentAdapter, type Host, type Store } from '@askback/core'
import type { Interaction, Json } from '@askback/protocol'
import { afterEach, beforeEach, expect } from 'vitest'
import { BotApiServer, labelOf, TOKEN } from './bot-api-server.js'

/** Ids of Telegram accounts. Mallory may not answer. */
export const ADA = 1001
export const BOB = 1002
export const MALLORY = 6666
export const CHAT = String(ADA)
export const GROUP = '-200'

export let server: BotApiServer
export let store: Store
export let host: Host
export let connector: TelegramConnector
export let running: RunningConnector
export let errors: unknown[]

beforeEach(async () => {
  server = await new BotApiServer().listen()
  store = memoryStore()
  errors = []
  const onError = (error: unknown) => errors.push(error)
  host = createHost({ desk: createDesk({ store, onError }), agents: [echo], onError })
  await host.ready
  await host.desk.createSession({ id: 's', agent: null, title: 'Release' })
})
afterEach(async () => {
  await running.stop()
  await host.close()
  await server.close()
})

export async function start(options: Partial<TelegramOptions> = {}): Promise<void> {
  const onError = (error: unknown) => errors.push(error)
  connector = telegramConnector({ token: TOKEN, kv: store.kv, apiRoot: server.url, onError, ...options })
  running = runConnector({ connector, desk: connectorDesk(host, store, { sessions: 'all' }), onError })
  await running.ready
}

export const startForAda = () => start({ users: [{ id: ADA, name: 'Ada' }], chats: [ADA] })

export async function ask(kind: string, request: object, sessionId = 's'): Promise<Interaction> {
  const toolName = kind === 'approval' ? 'Bash' : kind
  return (await host.desk.open({ sessionId, kind, request: request as Json, toolName })).interaction
}

/** Waits until the condition holds. */
export async function until(isTrue: () => boolean | undefined): Promise<void> {
  await expect.poll(isTrue, { interval: 10 }).toBe(true)
}
export const texts = (chat = CHAT) => server.in(chat).map(({ text }) => text)
export const controls = (chat = CHAT) =>
  server.in(chat).flatMap(({ markup }) => markup.inline_keyboard.flat().map(({ text }) => labelOf(text)))
/** Waits until a message or an alert has these words. */
export async function expectSaid(words: string | RegExp, chat = CHAT): Promise<void> {
  const read = () => [...texts(chat), ...server.alerts].join('\n')
  await expect.poll(read, { interval: 10 }).toMatch(words)
}
export const status = async ({ interactionId }: Interaction) =>
  (await host.desk.interaction('s', interactionId)).status
export const settled = async ({ interactionId, sessionId }: Interaction) =>
  (await host.desk.wait(interactionId, { sessionId, claim: false })).interaction

export const question = { questions: [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }] }
export const multiSelect = { questions: [{ ...question.questions[0]!, multiSelect: true }] }
export const command = { input: { command: 'ls' } }

/** An agent that repeats each message. */
const echo: AgentAdapter = {
  id: 'echo',
  name: 'Echo',
  check: async () => ({ available: true }),
  async start(context) {
    let end: (ending: { how: 'stopped' }) => void = () => undefined
    const ended = new Promise<{ how: 'stopped' }>((resolve) => (end = resolve))
    return {
      ended,
      async send({ text, turnId }) {
        await context.report(
          { type: 'text', blockId: turnId, text: `You said: ${text}`, turnId },
          { type: 'turn_ended', turnId, reason: 'done' },
        )
      },
      interrupt: async () => undefined,
      setPermissionMode: async () => undefined,
      stop: async () => end({ how: 'stopped' }),
    }
  },
}
