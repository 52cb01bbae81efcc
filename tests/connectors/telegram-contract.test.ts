import { telegramConnector } from '@askback/connectors/telegram'
import { connectorContract, type ConnectorUnderTest } from '@askback/connectors/testing'
import { memoryStore } from '@askback/core'
import { expect } from 'vitest'
import { BotApiServer, labelOf, TOKEN } from './bot-api-server.js'

const users = { ada: 1001, bob: 1002 }

connectorContract('Telegram', async (): Promise<ConnectorUnderTest> => {
  const server = await new BotApiServer().listen()
  const { kv } = memoryStore()
  const place = '7000'
  const untilAlert = async (act: () => void) => {
    const before = server.alerts.length
    act()
    await expect.poll(() => server.alerts.length).toBeGreaterThan(before)
  }
  return {
    place,
    actor: (name) => ({ id: `telegram:${users[name]}`, name }),
    make: () =>
      telegramConnector({
        token: TOKEN,
        kv,
        apiRoot: server.url,
        users: Object.entries(users).map(([name, id]) => ({ id, name })),
        onError: (error) => {
          if (!server.isDown) throw error
        },
      }),
    screen: async () => ({
      cards: server
        .in(place)
        .map(({ text, markup }) => ({
          text,
          controls: markup.inline_keyboard.flat().map((each) => labelOf(each.text)),
        }))
        .filter(({ text, controls }) => controls.length > 0 || /Send .* as a text\.$/m.test(text)),
      everything: [...server.in(place).map(({ text }) => text), ...server.alerts].join('\n'),
    }),
    tap: (label, by) => untilAlert(() => server.tap(place, users[by], label)),
    type: async (text, by) => void server.write(place, users[by], text),
    setDown: (down) => void (server.isDown = down),
    end: () => server.close(),
  }
})
