import { describe, expect, it } from 'vitest'
import {
  ADA,
  ask,
  BOB,
  CHAT,
  command,
  connector,
  controls,
  expectSaid,
  GROUP,
  host,
  MALLORY,
  question,
  running,
  server,
  settled,
  start,
  startForAda,
  status,
  store,
  texts,
  until,
} from './telegram-setup.js'

describe('who may answer', () => {
  it('nobody who is neither configured nor paired', async () => {
    await start()
    await ask('approval', command)
    server.write(String(MALLORY), MALLORY, 'hello')
    server.write(String(MALLORY), MALLORY, '/pending')
    server.write(String(MALLORY), MALLORY, '/start')
    await expectSaid('Pair first', String(MALLORY))
    expect(server.messages).toHaveLength(1)
    expect(controls(String(MALLORY))).toEqual([])
  })

  it('checks the account that taps, and not only the chat', async () => {
    await start({ users: [{ id: ADA, name: 'Ada' }], chats: [Number(GROUP)] })
    const item = await ask('approval', command)
    await until(() => controls(GROUP).includes('Approve'))
    server.tap(GROUP, MALLORY, 'Approve')
    await expectSaid('You may not answer here', GROUP)
    server.write(GROUP, MALLORY, 'No, never', server.in(GROUP)[0])
    server.tap(GROUP, ADA, 'Deny')
    expect(await settled(item)).toMatchObject({ settlement: 'denied', by: { name: 'Ada' }, via: 'telegram' })
    expect(await settled(item)).not.toHaveProperty('message')
  })

  it('ignores a tap in a chat that is not connected', async () => {
    await startForAda()
    const item = await ask('approval', command)
    await until(() => controls().includes('Approve'))
    const [card] = server.in(CHAT)
    server.messages.push({ ...card!, chat: '777' })
    server.tap('777', ADA, 'Approve')
    await expectSaid('You may not answer here')
    expect(await status(item)).toBe('pending')
  })
})

describe('pairing', () => {
  it('takes a code once, shows pending requests, and answers in the name of that person', async () => {
    await start()
    const item = await ask('approval', command)
    await until(() => server.calls.includes('getUpdates'))
    const { code, link } = connector.pair({ id: 'grace', name: 'Grace' })
    expect(link).toBe(`https://t.me/askback_test_bot?start=${code}`)
    server.write(CHAT, ADA, `/start ${code}`)
    await until(() => controls().includes('Approve'))
    server.write(String(BOB), BOB, `/pair ${code}`)
    await expectSaid('This code is wrong', String(BOB))
    server.tap(CHAT, ADA, 'Approve')
    expect(await settled(item)).toMatchObject({ by: { id: 'grace', name: 'Grace' }, via: 'telegram' })
    server.write(CHAT, ADA, '/unpair')
    await expectSaid('no longer paired')
    const by = { id: 'grace', name: 'Grace' }
    expect((await store.audit({ limit: 10 })).items.filter((row) => 'act' in row)).toMatchObject([
      { act: 'paired', by, via: 'telegram', subject: `telegram:${ADA}` },
      { act: 'unpaired', by, via: 'telegram', subject: `telegram:${ADA}` },
    ])
    await ask('approval', command)
    server.write(CHAT, ADA, '/help')
    await expectSaid('Pair first')
    expect(controls()).toEqual([])
  })

  it('survives a restart', async () => {
    await start()
    server.write(CHAT, ADA, `/pair ${connector.pair({ id: 'grace' }).code.toLowerCase()}`)
    await expectSaid('You answer here as grace')
    await running.stop()
    await start()
    await ask('question', question)
    await until(() => controls().includes('A'))
  })

  it('ends with the access of the person', async () => {
    let mayAct = true
    await start({ mayAct: () => mayAct })
    server.write(CHAT, ADA, `/pair ${connector.pair({ id: 'grace' }).code}`)
    const item = await ask('approval', command)
    await until(() => controls().includes('Approve'))
    mayAct = false
    server.tap(CHAT, ADA, 'Approve')
    await expectSaid('You may not answer here')
    expect(await status(item)).toBe('pending')
  })

  it('refuses the code of a person who was revoked after it was made', async () => {
    let mayAct = true
    await start({ mayAct: () => mayAct })
    const { code } = connector.pair({ id: 'grace' })
    mayAct = false
    server.write(CHAT, ADA, `/pair ${code}`)
    await expectSaid('This code is wrong')
    expect(await store.kv.list('connector/telegram/person/')).toEqual([])
  })

  it('ends when the person is revoked, together with the chat that only they connected', async () => {
    await start()
    server.write(CHAT, ADA, `/pair ${connector.pair({ id: 'grace' }).code}`)
    server.write(GROUP, ADA, `/pair ${connector.pair({ id: 'grace' }).code}`)
    server.write(GROUP, BOB, `/pair ${connector.pair({ id: 'bob' }).code}`)
    const { code } = connector.pair({ id: 'grace' })
    const item = await ask('approval', command)
    await until(() => controls().includes('Approve') && controls(GROUP).includes('Approve'))
    await until(() => texts(GROUP).filter((text) => text.includes('You answer here as')).length === 2)
    await connector.removePerson('grace')
    await until(() => controls().length === 0)
    await host.desk.cancel({ interactionId: item.interactionId, message: 'No longer needed.' })
    await ask('approval', { input: { command: 'whoami' } })
    await until(() => texts(GROUP).some((text) => text.includes('whoami')))
    expect(texts().join('\n')).not.toMatch(/whoami|No longer needed/)
    expect(running.context.places().map(({ id }) => id)).toEqual([GROUP])
    server.write(CHAT, ADA, `/pair ${code}`)
    await expectSaid('This code is wrong')
    expect(await store.kv.list('connector/telegram/person/')).toMatchObject([{ value: { id: 'bob' } }])
  })

  it('ends at the next start for a person who was revoked in between', async () => {
    await start()
    server.write(CHAT, ADA, `/pair ${connector.pair({ id: 'grace' }).code}`)
    await until(() => running.context.places().length === 1)
    await running.stop()
    await start({ mayAct: () => false })
    expect(running.context.places()).toEqual([])
    expect(await store.kv.list('connector/telegram/person/')).toEqual([])
  })

  it('refuses more guesses after a few wrong codes', async () => {
    await start()
    const { code } = connector.pair({ id: 'grace' })
    for (let n = 0; n < 5; n++) server.write(String(MALLORY), MALLORY, `/pair WRONG${n}`)
    server.write(String(MALLORY), MALLORY, `/pair ${code}`)
    await expectSaid('Too many wrong codes', String(MALLORY))
  })
})

describe('a text', () => {
  it('answers the message that it replies to', async () => {
    await startForAda()
    const first = await ask('question', question)
    await until(() => controls().length === 3)
    const second = await ask('question', { questions: [{ question: 'And?', options: [] }] })
    await expectSaid('And?')
    const card = server.in(CHAT).find(({ text }) => text.includes('And?'))
    server.write(CHAT, ADA, 'a', card)
    expect((await settled(second)).answer).toEqual({ answers: [{ selected: [], other: 'a' }] })
    await expectSaid(/taken for “Question”/)
    server.write(CHAT, ADA, 'b')
    expect((await settled(first)).answer).toEqual({ answers: [{ selected: ['B'] }] })
  })

  it('is refused while several sessions have pending requests, and the reply says what to do', async () => {
    await startForAda()
    await host.desk.createSession({ id: 'other', agent: null })
    await ask('question', question)
    await ask('question', question, 'other')
    await until(() => controls().length === 6)
    server.write(CHAT, ADA, 'A')
    await expectSaid('Reply to the message that you mean')
  })

  it('can be a command: to start a session, set its mode, stop and clear it', async () => {
    await startForAda()
    server.write(CHAT, ADA, '/mode plan')
    await expectSaid('No session is chosen')
    server.write(CHAT, ADA, '/new Hello there')
    await expectSaid('You said: Hello there')
    server.write(CHAT, ADA, '/mode acceptedits')
    await expectSaid('in mode acceptEdits now')
    server.write(CHAT, ADA, 'And again')
    await expectSaid('You said: And again')
    const [{ id } = { id: '' }] = (await host.desk.sessions()).items
    expect((await store.audit({ limit: 10 })).items).toMatchObject([
      {
        act: 'permission_mode',
        sessionId: id,
        subject: 'acceptEdits',
        by: { id: `telegram:${ADA}`, name: 'Ada' },
        via: 'telegram',
      },
    ])
    const item = await ask('question', question, id)
    await until(() => controls().includes('A'))
    server.write(CHAT, ADA, '/clear')
    expect((await settled(item)).settlement).toBe('cancelled')
    await expectSaid(/Question Cancelled by Ada on Telegram/)
    server.write(CHAT, ADA, '/sessions')
    await expectSaid(/1\. Echo|1\. echo/)
    server.write(CHAT, ADA, '/sessions 2')
    await expectSaid('Your texts go to Release now')
    server.write(CHAT, ADA, '/nonsense')
    await expectSaid('There is no such command')
  })

  it('/follow limits a chat to one session', async () => {
    await start({ users: [{ id: ADA }], chats: [ADA] })
    await running.context.setPlace(CHAT, { sessions: 'all', current: 's' })
    server.write(CHAT, ADA, '/follow this')
    await expectSaid('in Release only')
    await host.desk.createSession({ id: 'other', agent: null })
    await ask('approval', command, 'other')
    await ask('question', question)
    await until(() => controls().includes('A'))
    expect(controls()).not.toContain('Approve')
    server.write(CHAT, ADA, '/follow all')
    await until(() => controls().includes('Approve'))
  })

  it('/pending shows pending requests again, and leaves one set of buttons', async () => {
    await startForAda()
    await ask('question', question)
    await until(() => controls().length === 3)
    server.write(CHAT, ADA, '/pending')
    await expectSaid('One thing waits')
    await expectSaid('Shown again below')
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

  it('takes updates with its secret only', async () => {
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
    await expectSaid('/sessions')
    expect(texts()).toHaveLength(1)
    expect(server.calls).not.toContain('getUpdates')
  })

  it('takes no updates if it is not configured', async () => {
    await startForAda()
    expect(await connector.receive({ 'x-telegram-bot-api-secret-token': '' }, body(1))).toBe(false)
  })
})
