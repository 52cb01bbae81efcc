import { telegramConnector, type TelegramConnector, type TelegramOptions } from '@askback/connectors/telegram'
import {
  connectorDesk,
  createDesk,
  createHost,
  memoryStore,
  runConnector,
  type AgentAdapter,
  type Host,
  type RunningConnector,
  type Store,
} from '@askback/core'
import type { Interaction, Json } from '@askback/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BotApiServer, labelOf, TOKEN } from './bot-api-server.js'

const ADA = 1001
const BOB = 1002
const MALLORY = 6666
const CHAT = String(ADA)
const GROUP = '-200'

let server: BotApiServer
let store: Store
let host: Host
let connector: TelegramConnector
let running: RunningConnector
let errors: unknown[]

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

async function start(options: Partial<TelegramOptions> = {}): Promise<void> {
  const onError = (error: unknown) => errors.push(error)
  connector = telegramConnector({ token: TOKEN, kv: store.kv, apiRoot: server.url, onError, ...options })
  running = runConnector({ connector, desk: connectorDesk(host, store), onError })
  await running.ready
}

const startForAda = () => start({ users: [{ id: ADA, name: 'Ada' }], chats: [ADA] })

async function ask(kind: string, request: object, sessionId = 's'): Promise<Interaction> {
  const toolName = kind === 'approval' ? 'Bash' : kind
  return (await host.desk.open({ sessionId, kind, request: request as Json, toolName })).interaction
}

const until = (look: () => boolean | undefined) => expect.poll(look, { interval: 10 }).toBe(true)
const texts = (chat = CHAT) => server.in(chat).map(({ text }) => text)
const controls = (chat = CHAT) =>
  server.in(chat).flatMap(({ markup }) => markup.inline_keyboard.flat().map(({ text }) => labelOf(text)))
const said = (words: string | RegExp, chat = CHAT) =>
  expect.poll(() => [...texts(chat), ...server.alerts].join('\n'), { interval: 10 }).toMatch(words)
const status = async ({ interactionId }: Interaction) =>
  (await host.desk.interaction('s', interactionId)).status
const settled = ({ interactionId, sessionId }: Interaction) => host.desk.watch(sessionId, interactionId)

const question = { questions: [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }] }
const several = { questions: [{ ...question.questions[0]!, multiSelect: true }] }
const command = { input: { command: 'ls' } }

describe('who may answer', () => {
  it('nobody, unless named or paired', async () => {
    await start()
    await ask('approval', command)
    server.write(String(MALLORY), MALLORY, 'hello')
    server.write(String(MALLORY), MALLORY, '/pending')
    server.write(String(MALLORY), MALLORY, '/start')
    await said('Pair first', String(MALLORY))
    expect(server.messages).toHaveLength(1)
    expect(controls(String(MALLORY))).toEqual([])
  })

  it('the person who taps is checked, not the chat', async () => {
    await start({ users: [{ id: ADA, name: 'Ada' }], chats: [Number(GROUP)] })
    const item = await ask('approval', command)
    await until(() => controls(GROUP).includes('Approve'))
    server.tap(GROUP, MALLORY, 'Approve')
    await said('You may not answer here', GROUP)
    server.write(GROUP, MALLORY, 'No, never', server.in(GROUP)[0])
    server.tap(GROUP, ADA, 'Deny')
    expect(await settled(item)).toMatchObject({ settlement: 'denied', by: { name: 'Ada' }, via: 'telegram' })
    expect(await settled(item)).not.toHaveProperty('message')
  })

  it('a tap in a chat that is none of ours does nothing', async () => {
    await startForAda()
    const item = await ask('approval', command)
    await until(() => controls().includes('Approve'))
    const [card] = server.in(CHAT)
    server.messages.push({ ...card!, chat: '777' })
    server.tap('777', ADA, 'Approve')
    await said('You may not answer here')
    expect(await status(item)).toBe('pending')
  })
})

describe('pairing', () => {
  it('takes a code once, shows what waits, and answers in that person’s name', async () => {
    await start()
    const item = await ask('approval', command)
    await until(() => server.calls.includes('getUpdates'))
    const { code, link } = connector.pair({ id: 'grace', name: 'Grace' })
    expect(link).toBe(`https://t.me/askback_test_bot?start=${code}`)
    server.write(CHAT, ADA, `/start ${code}`)
    await until(() => controls().includes('Approve'))
    server.write(String(BOB), BOB, `/pair ${code}`)
    await said('This code is wrong', String(BOB))
    server.tap(CHAT, ADA, 'Approve')
    expect(await settled(item)).toMatchObject({ by: { id: 'grace', name: 'Grace' }, via: 'telegram' })
    server.write(CHAT, ADA, '/unpair')
    await said('no longer paired')
    await ask('approval', command)
    server.write(CHAT, ADA, '/help')
    await said('Pair first')
    expect(controls()).toEqual([])
  })

  it('stays paired over a restart', async () => {
    await start()
    server.write(CHAT, ADA, `/pair ${connector.pair({ id: 'grace' }).code.toLowerCase()}`)
    await said('You answer here as grace')
    await running.stop()
    await start()
    await ask('question', question)
    await until(() => controls().includes('A'))
  })

  it('ends with the access of the person', async () => {
    let isKnown = true
    await start({ isKnown: () => isKnown })
    server.write(CHAT, ADA, `/pair ${connector.pair({ id: 'grace' }).code}`)
    const item = await ask('approval', command)
    await until(() => controls().includes('Approve'))
    isKnown = false
    server.tap(CHAT, ADA, 'Approve')
    await said('You may not answer here')
    expect(await status(item)).toBe('pending')
  })

  it('ends guessing after a few tries', async () => {
    await start()
    const { code } = connector.pair({ id: 'grace' })
    for (let n = 0; n < 5; n++) server.write(String(MALLORY), MALLORY, `/pair WRONG${n}`)
    server.write(String(MALLORY), MALLORY, `/pair ${code}`)
    await said('Too many wrong codes', String(MALLORY))
  })
})

describe('what Telegram takes', () => {
  it('labels of any length become ids, and the whole label is shown', async () => {
    await startForAda()
    const label = `Use 🐘 PostgreSQL ${'with a very long explanation '.repeat(8)}`
    const item = await ask('question', {
      questions: [{ question: 'Which?', options: [{ label }, { label: 'B' }] }],
    })
    await until(() => controls().length === 3)
    expect(texts()[0]).toContain(label.trim())
    server.tap(CHAT, ADA, '1. Use')
    expect((await settled(item)).answer).toEqual({ answers: [{ selected: [label] }] })
  })

  it('long input comes as a file before the buttons, and the message says so', async () => {
    await startForAda()
    const lines = Array.from({ length: 412 }, (_, n) => `echo "*_[line ${n}](x) 🐘"`).join('\n')
    const item = await ask('approval', { input: { command: lines } })
    await until(() => controls().includes('Approve'))
    const [file, card] = server.in(CHAT)
    expect(file?.document?.content).toContain(lines)
    expect(card?.text).toMatch(/Only the beginning is shown here. All of it \(\d+ lines, [\d,]+ characters\)/)
    expect(card!.text.length).toBeLessThanOrEqual(4096)
    server.tap(CHAT, ADA, 'Approve')
    await settled(item)
    await said('Approved by Ada')
    expect(server.in(CHAT).filter(({ document }) => document)).toHaveLength(1)
  })

  it.each(['a_b*c[d](e)`f', '<b>&amp;</b>', '😀'.repeat(2040), 'ends with blanks   \n\n', '\u202e\u0000x'])(
    'an input of any characters arrives: %j',
    async (input) => {
      await startForAda()
      await ask('approval', { input: { command: input }, title: input, reason: '🐘 because' })
      await until(() => controls().includes('Approve'))
      expect(errors).toEqual([])
    },
  )

  it('a long answer of an agent comes in pieces', async () => {
    await startForAda()
    await running.line.setPlace(CHAT, { sessions: 'all', current: 's' })
    await host.desk.report({
      sessionId: 's',
      events: [{ type: 'text', blockId: 'b', text: 'word 🐘 '.repeat(1200) }],
    })
    await until(() => server.in(CHAT).length === 3)
    expect(texts().join(' ').match(/🐘/gu)).toHaveLength(1200)
  })

  it('waits as long as it is told to, and loses nothing', async () => {
    await startForAda()
    await until(() => server.calls.includes('getUpdates'))
    server.limit(CHAT, 1)
    await ask('question', question)
    await ask('approval', command)
    await until(() => controls().includes('A') && controls().includes('Approve'))
    expect(server.calls.filter((method) => method === 'sendMessage')).toHaveLength(3)
    expect(errors).toEqual([])
  })

  it('a message that was deleted is shown anew when it changes, and is no trouble when it closes', async () => {
    await startForAda()
    const item = await ask('question', several)
    await until(() => controls().includes('A'))
    server.tap(CHAT, ADA, 'A')
    server.delete(server.in(CHAT)[0]!)
    await until(() => controls().includes('Done (1)'))
    server.delete(server.in(CHAT)[0]!)
    await host.desk.respond({ interactionId: item.interactionId, answer: { answers: [{ selected: ['B'] }] } })
    const next = await ask('approval', command)
    await until(() => controls().includes('Approve'))
    expect(errors).toEqual([])
    expect(await status(next)).toBe('pending')
  })
})

describe('what goes wrong', () => {
  it('a double tap counts once, and says how it came out', async () => {
    await startForAda()
    const item = await ask('approval', command)
    await until(() => controls().includes('Approve'))
    server.tap(CHAT, ADA, 'Approve')
    server.tap(CHAT, ADA, 'Approve')
    await until(() => server.alerts.length === 2)
    expect(server.alerts[1]).toMatch(/Approved by Ada|no longer open/)
    expect((await settled(item)).settlement).toBe('approved')
  })

  it('an update that comes twice counts once, also after a restart', async () => {
    await startForAda()
    await ask('question', several)
    await until(() => controls().includes('A'))
    const update = server.tap(CHAT, ADA, 'A')
    await until(() => controls().includes('Done (1)'))
    server.push(update)
    server.tap(CHAT, ADA, 'B')
    await until(() => controls().includes('Done (2)'))
    await running.stop()
    await startForAda()
    server.push(update)
    server.write(CHAT, ADA, '/help')
    await said('/sessions')
    expect(controls()).toContain('Done (2)')
  })

  it('updates that come out of order all count', async () => {
    await startForAda()
    const item = await ask('question', several)
    await until(() => controls().includes('A'))
    const [card] = server.in(CHAT)
    const data = card!.markup.inline_keyboard
      .flat()
      .map((button) => ('callback_data' in button ? button.callback_data! : ''))
    const base = { from: { id: ADA, is_bot: false, first_name: 'Ada' }, chat_instance: 'c' }
    const message = {
      message_id: card!.message_id,
      date: 1,
      chat: { id: ADA, type: 'private', first_name: 'Ada' },
    }
    for (const [update_id, index] of [
      [9002, 1],
      [9001, 0],
    ] as const) {
      server.push({
        update_id,
        callback_query: { ...base, id: `o${index}`, data: data[index]!, message } as never,
      })
    }
    await until(() => controls().includes('Done (2)'))
    server.tap(CHAT, ADA, 'Done')
    expect((await settled(item)).answer).toEqual({ answers: [{ selected: ['A', 'B'] }] })
  })

  it('a button of no card gets a short notice, and goes', async () => {
    await startForAda()
    server.messages.push({
      message_id: 4242,
      chat: CHAT,
      text: 'Old',
      entities: [],
      markup: { inline_keyboard: [[{ text: 'Approve', callback_data: 'nothing:approve' }]] },
    })
    server.tap(CHAT, ADA, 'Approve')
    await said('no longer open')
    await until(() => controls().length === 0)
    server.tapData(server.in(CHAT)[0]!, ADA, '💥')
    await until(() => server.alerts.length === 2)
  })

  it('an answer in the web app ends a feedback step, and the text goes nowhere', async () => {
    await startForAda()
    const item = await ask('plan_review', { plan: 'A plan' })
    await until(() => controls().includes('Adjust…'))
    server.tap(CHAT, ADA, 'Adjust')
    await until(() => controls().join() === 'Back')
    const { interactionId } = item
    await host.desk.respond({
      interactionId,
      answer: { decision: 'edit' },
      by: { id: 'c', name: 'Carol' },
      via: 'web',
    })
    await said('Approved by Carol in the web app')
    const [card] = server.in(CHAT)
    server.write(CHAT, ADA, 'Smaller steps', card)
    await said('Your text went nowhere')
    expect(
      (await store.read({ sessionId: 's', limit: 100 })).some(({ type }) => type === 'user_message'),
    ).toBe(false)
  })

  it('the token stands in no error', async () => {
    server.isDown = true
    await startForAda()
    await until(() => errors.length > 0)
    server.isDown = false
    const wrong = telegramConnector({
      token: '1:wrong-secret',
      kv: store.kv,
      apiRoot: server.url,
      onError: (e) => errors.push(e),
    })
    const other = runConnector({
      connector: wrong,
      desk: connectorDesk(host, store),
      onError: (e) => errors.push(e),
    })
    await until(() => errors.some((error) => String(error).includes('bot token')))
    await other.stop()
    for (const error of errors) {
      const shown = `${String(error)} ${(error as Error).stack} ${JSON.stringify(error)} ${String((error as Error).cause)}`
      expect(shown).not.toMatch(/a-token-that-nobody-may-log|wrong-secret/)
    }
  })
})

describe('text', () => {
  it('goes to what it replies to', async () => {
    await startForAda()
    const first = await ask('question', question)
    await until(() => controls().length === 3)
    const second = await ask('question', { questions: [{ question: 'And?', options: [] }] })
    await said('And?')
    const card = server.in(CHAT).find(({ text }) => text.includes('And?'))
    server.write(CHAT, ADA, 'a', card)
    expect((await settled(second)).answer).toEqual({ answers: [{ selected: [], other: 'a' }] })
    await said(/taken for “Question”/)
    server.write(CHAT, ADA, 'b')
    expect((await settled(first)).answer).toEqual({ answers: [{ selected: ['B'] }] })
  })

  it('is refused with the way out where several sessions wait', async () => {
    await startForAda()
    await host.desk.createSession({ id: 'other', agent: null })
    await ask('question', question)
    await ask('question', question, 'other')
    await until(() => controls().length === 6)
    server.write(CHAT, ADA, 'A')
    await said('Reply to the message that you mean')
  })

  it('works with commands: a session of one’s own, its mode, a stop and a clear', async () => {
    await startForAda()
    server.write(CHAT, ADA, '/mode plan')
    await said('No session is chosen')
    server.write(CHAT, ADA, '/new Hello there')
    await said('You said: Hello there')
    server.write(CHAT, ADA, '/mode acceptedits')
    await said('in mode acceptEdits now')
    server.write(CHAT, ADA, 'And again')
    await said('You said: And again')
    const [{ id } = { id: '' }] = (await host.desk.sessions()).items
    const item = await ask('question', question, id)
    await until(() => controls().includes('A'))
    server.write(CHAT, ADA, '/clear')
    expect((await settled(item)).settlement).toBe('cancelled')
    await said(/Question Cancelled by Ada on Telegram/)
    server.write(CHAT, ADA, '/sessions')
    await said(/1\. Echo|1\. echo/)
    server.write(CHAT, ADA, '/sessions 2')
    await said('Your texts go to Release now')
    server.write(CHAT, ADA, '/nonsense')
    await said('There is no such command')
  })

  it('/follow keeps a chat to one session', async () => {
    await start({ users: [{ id: ADA }], chats: [ADA] })
    await running.line.setPlace(CHAT, { sessions: 'all', current: 's' })
    server.write(CHAT, ADA, '/follow this')
    await said('in Release only')
    await host.desk.createSession({ id: 'other', agent: null })
    await ask('approval', command, 'other')
    await ask('question', question)
    await until(() => controls().includes('A'))
    expect(controls()).not.toContain('Approve')
    server.write(CHAT, ADA, '/follow all')
    await until(() => controls().includes('Approve'))
  })

  it('/pending shows again what waits, with one set of buttons', async () => {
    await startForAda()
    await ask('question', question)
    await until(() => controls().length === 3)
    server.write(CHAT, ADA, '/pending')
    await said('One thing waits')
    await said('Shown again below')
    await until(() => controls().length === 3)
  })
})

describe('a webhook', () => {
  const body = (update_id: number) => ({
    update_id,
    message: {
      message_id: 1,
      date: 1,
      chat: { id: ADA, type: 'private' },
      from: { id: ADA, is_bot: false, first_name: 'A' },
      text: '/help',
    },
  })

  it('takes updates with its secret, and nothing without', async () => {
    await start({
      users: [{ id: ADA }],
      chats: [ADA],
      webhookUrl: 'https://example.com/api/connectors/telegram/updates',
    })
    await until(() => server.webhook !== null)
    const header = 'x-telegram-bot-api-secret-token'
    expect(await connector.receive({}, body(1))).toBe(false)
    expect(await connector.receive({ [header]: 'x'.repeat(64) }, body(2))).toBe(false)
    expect(await connector.receive({ [header]: server.webhook!.secret }, body(3))).toBe(true)
    await said('/sessions')
    expect(texts()).toHaveLength(1)
    expect(server.calls).not.toContain('getUpdates')
  })

  it('is closed where it is not used', async () => {
    await startForAda()
    expect(await connector.receive({ 'x-telegram-bot-api-secret-token': '' }, body(1))).toBe(false)
  })
})

/** Repeats what it is told. */
const echo: AgentAdapter = {
  id: 'echo',
  name: 'Echo',
  check: async () => ({ available: true }),
  async start({ report }) {
    let end: (ending: { how: 'stopped' }) => void = () => undefined
    const ended = new Promise<{ how: 'stopped' }>((resolve) => (end = resolve))
    return {
      ended,
      async send({ text, turnId }) {
        await report(
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
