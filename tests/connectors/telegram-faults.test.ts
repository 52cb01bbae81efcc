import { connectorDesk, runConnector } from '@askback/connectors'
import { telegramConnector } from '@askback/connectors/telegram'
import { describe, expect, it } from 'vitest'
import {
  ADA,
  ask,
  CHAT,
  command,
  controls,
  errors,
  expectSaid,
  host,
  running,
  server,
  settled,
  multiSelect,
  startForAda,
  store,
  until,
} from './telegram-setup.js'

describe('faults', () => {
  it('a double tap counts once, and the second reply says how the request ended', async () => {
    await startForAda()
    const item = await ask('approval', command)
    await until(() => controls().includes('Approve'))
    server.tap(CHAT, ADA, 'Approve')
    server.tap(CHAT, ADA, 'Approve')
    await until(() => server.alerts.length === 2)
    expect(server.alerts[1]).toMatch(/Approved by Ada|no longer open/)
    expect((await settled(item)).settlement).toBe('approved')
  })

  it('a repeated update counts once, also after a restart', async () => {
    await startForAda()
    await ask('question', multiSelect)
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
    await expectSaid('/sessions')
    expect(controls()).toContain('Done (2)')
  })

  it('updates that arrive out of order all count', async () => {
    await startForAda()
    const item = await ask('question', multiSelect)
    await until(() => controls().includes('A'))
    const [card] = server.in(CHAT)
    const data = card!.markup.inline_keyboard.flat().map((button) => button.callback_data)
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
        callback_query: { ...base, id: `o${index}`, data: data[index]!, message },
      })
    }
    await until(() => controls().includes('Done (2)'))
    server.tap(CHAT, ADA, 'Done')
    expect((await settled(item)).answer).toEqual({ answers: [{ selected: ['A', 'B'] }] })
  })

  it('a button that belongs to no card is answered with a notice and removed', async () => {
    await startForAda()
    server.messages.push({
      message_id: 4242,
      chat: CHAT,
      text: 'Old',
      entities: [],
      markup: { inline_keyboard: [[{ text: 'Approve', callback_data: 'nothing:approve' }]] },
    })
    server.tap(CHAT, ADA, 'Approve')
    await expectSaid('no longer open')
    await until(() => controls().length === 0)
    server.tapData(server.in(CHAT)[0]!, ADA, '💥')
    await until(() => server.alerts.length === 2)
  })

  it('an answer in the web app ends the wait for feedback, and a later text is discarded', async () => {
    await startForAda()
    const item = await ask('plan_review', { plan: 'A plan' })
    await until(() => controls().includes('Adjust…'))
    server.tap(CHAT, ADA, 'Adjust')
    await until(() => controls().join() === 'Back')
    const { interactionId } = item
    await host.desk
      .as({ by: { id: 'c', name: 'Carol' }, via: 'web' })
      .respond({ interactionId, answer: { decision: 'edit' } })
    await expectSaid('Approved by Carol in the web app')
    const [card] = server.in(CHAT)
    server.write(CHAT, ADA, 'Smaller steps', card)
    await expectSaid('Your text went nowhere')
    expect(
      (await store.read({ sessionId: 's', limit: 100 })).some(({ type }) => type === 'user_message'),
    ).toBe(false)
  })

  it('no error contains the token', async () => {
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
      desk: connectorDesk(host, store, { sessions: 'all' }),
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
