import type { Interaction, KindPromptResult } from '@askback/protocol'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { BotApiServer, labelOf, TOKEN } from '../../connectors/bot-api-server.js'
import { keys, PseudoTerminal } from '../../connectors/pseudo-terminal.js'
import { call, connect, nextPending } from '../cli/mcp-clients.js'
import { newFolder } from '../http/command.js'
import { at, portToKeep, run, serve, type RunningGateway } from '../http/gateways.js'
import { ask, readInteraction } from '../web/asking.js'
import { goTo, settle } from '../web/browser.js'
import { openWindow } from '../web/window.js'

/*
 * A kind of one's own, in two files and without a renderer, is asked and answered on every surface of the shipped command.
 */

const KIND = `
import { AskbackError, defineInteraction, z } from 'askback/config'

interface Slots {
  purpose: string
  slots: string[]
}

export const timeSlot = defineInteraction({
  kind: 'time_slot',
  presentation: 'questionnaire',
  title: 'Choose a time',
  request: z.object({ purpose: z.string(), slots: z.array(z.string()).min(1) }),
  answer: z.object({ slot: z.string(), guests: z.int().min(1).max(50).optional().describe('How many come') }),
  card: ({ slots }: Slots) => ({ fields: { slot: { label: 'Slot', options: slots } } }),
  settle({ slots }: Slots, answer) {
    if (!slots.includes(answer.slot)) throw new AskbackError('invalid_answer', 'There is no slot ' + answer.slot + '.')
    return { settlement: 'answered', answer }
  },
})
`
const slots = ['Monday 18:00', 'Tuesday 9:00']
const timeSlot = { kind: 'time_slot', request: { purpose: 'Release \u202e1.2', slots } }
const CHAT = '1001'

/** A data folder with the two files. */
function folderWithKind(settings = ''): string {
  const data = newFolder()
  writeFileSync(join(data, 'time-slot.ts'), KIND)
  writeFileSync(
    join(data, 'askback.config.ts'),
    `import { defineConfig } from 'askback/config'
     import { timeSlot } from './time-slot'
     export default defineConfig({ kinds: [timeSlot], ${settings} })`,
  )
  return data
}

const settled = async (gateway: RunningGateway, item: Interaction) => {
  await expect.poll(async () => (await readInteraction(gateway, item)).status).toBe('settled')
  return readInteraction(gateway, item)
}

let telegram: BotApiServer | undefined
afterEach(async () => {
  await telegram?.close()
  telegram = undefined
})

describe('a kind in two files, on the shipped command', () => {
  it('is listed and answered over HTTP, and refuses what its rules refuse', async () => {
    const gateway = await serve({ data: folderWithKind() })
    const { body } = await gateway.call('GET', '/api/kinds')
    expect(body).toMatchObject({
      kinds: [{ kind: 'time_slot', title: 'Choose a time', answer: { type: 'object' } }],
    })
    const item = await ask(gateway, timeSlot)
    const respond = (answer: object) => gateway.call('POST', `${at(item)}/response`, { body: { answer } })
    expect(await respond({ slot: 'Friday' })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_answer', message: 'There is no slot Friday.' } },
    })
    expect(await respond({ slot: slots[0] })).toMatchObject({ status: 200 })
  })

  it('is asked and answered on the command line', async () => {
    const gateway = await serve({ data: folderWithKind() })
    const { data } = gateway
    const input = join(data, 'slots.json')
    writeFileSync(input, JSON.stringify(timeSlot.request))
    const asking = run(['request', '--kind', 'time_slot', '--input', `@${input}`, '--data', data])
    const { interactionId } = await nextPending(gateway)
    const wrong = run(['answer', interactionId, 'slut=x', '--data', data])
    expect(await wrong.ended).toMatchObject({ code: 2 })
    expect(wrong.stderr).toContain('the names are slot, guests')
    const answering = run(['answer', interactionId, `slot=${slots[1]}`, 'guests=4', '--data', data])
    expect(await answering.ended).toMatchObject({ code: 0 })
    expect(answering.stderr).toContain('U+202E')
    expect(await asking.ended).toMatchObject({ code: 0 })
    expect(JSON.parse(asking.stdout)).toEqual({ slot: slots[1], guests: 4 })
  })

  it.each(['http', 'stdio'] as const)('is a tool of its own over MCP (%s)', async (how) => {
    const gateway = await serve({ data: folderWithKind() })
    const client = await connect(how, gateway)
    const { tools } = await client.listTools()
    expect(tools.find(({ name }) => name === 'ask_time_slot')).toMatchObject({
      inputSchema: { type: 'object', required: ['purpose', 'slots'] },
    })
    const result = call(client, 'ask_time_slot', timeSlot.request)
    const item = await nextPending(gateway)
    await gateway.call('POST', `${at(item)}/response`, { body: { answer: { slot: slots[0] } } })
    expect(await result).toMatchObject({ text: 'Answered: {"slot":"Monday 18:00"}', isError: false })
  })

  it('is asked field by field in the terminal', async () => {
    const gateway = await serve({ data: folderWithKind() })
    const item = await ask(gateway, timeSlot)
    const env = { ASKBACK_URL: gateway.ready.url, ASKBACK_TOKEN: gateway.ready.token }
    const terminal = new PseudoTerminal(['attach', item.sessionId], env)
    await terminal.expectText(/Choose a time: Slot \(1 of 2\)[^]*U\+202E[^]*2 Tuesday 9:00/)
    const text = () => stripVTControlCharacters(terminal.raw)
    // Keys are ignored for a moment after a card appeared, so they are pressed until they have an effect.
    const pressUntil = async (key: string, words: RegExp) => {
      const pressed = () => {
        if (!words.test(text())) terminal.press(key)
        return text()
      }
      await expect.poll(pressed, { interval: 500 }).toMatch(words)
    }
    await pressUntil('2', /guests \(2 of 2\)[^]*How many come/)
    await pressUntil('t', /Esc goes back/)
    // The last press may have been typed as a text.
    terminal.press(`${'\u007f'.repeat(5)}7${keys.enter}`)
    expect(await settled(gateway, item)).toMatchObject({
      answer: { slot: slots[1], guests: 7 },
      via: 'terminal',
    })
    await terminal.expectText('slot: Tuesday 9:00')
  })

  it('is asked field by field on Telegram, through a restart', async () => {
    telegram = await new BotApiServer().listen()
    const bot = telegram
    const users = `users: [{ id: ${CHAT}, name: 'Ada' }], chats: [${CHAT}]`
    const data = folderWithKind(`connectors: { telegram: { apiRoot: '${bot.url}', ${users} } }`)
    const env = { ASKBACK_TELEGRAM_TOKEN: TOKEN }
    const first = await serve({ data, env })
    const item = await ask(first, timeSlot)
    const buttons = () =>
      bot.in(CHAT).flatMap(({ markup }) => markup.inline_keyboard.flat().map(({ text }) => labelOf(text)))
    await expect.poll(buttons).toEqual(slots)
    expect(bot.in(CHAT)[0]?.text).toContain('U+202E')
    bot.tap(CHAT, 1001, slots[1]!)
    await expect.poll(buttons).toEqual(['Leave out', 'Start over'])
    await first.stop('SIGTERM')
    const gateway = await serve({ data, env })
    bot.write(CHAT, 1001, '99')
    await expect
      .poll(() =>
        bot
          .in(CHAT)
          .map(({ text }) => text)
          .join('\n'),
      )
      .toContain('at most 50')
    bot.write(CHAT, 1001, '5')
    expect(await settled(gateway, item)).toMatchObject({
      answer: { slot: slots[1], guests: 5 },
      via: 'telegram',
    })
    await expect.poll(buttons).toEqual([])
  })

  it('is a form in the web app, through a restart', async () => {
    const data = folderWithKind()
    const port = await portToKeep()
    const first = await serve({ data, port })
    const item = await ask(first, timeSlot)
    const page = await openWindow(first)
    await goTo(page, `#/s/${item.sessionId}`)
    const card = page.getByRole('group', { name: 'Choose a time' })
    await card.getByText('U+202E').waitFor()
    await card.getByRole('radio', { name: slots[1]! }).check()
    await first.stop('SIGTERM')
    const gateway = await serve({ data, port })
    await page.reload()
    await expect.poll(() => card.getByRole('radio', { name: slots[1]! }).isChecked()).toBe(true)
    await card.getByRole('textbox', { name: 'guests' }).fill('3')
    const own = page.locator(`[data-interaction="${item.interactionId}"]`)
    await settle(own, 'Submit')
    expect(await settled(gateway, item)).toMatchObject({ answer: { slot: slots[1], guests: 3 }, via: 'web' })
    await own.getByText(slots[1]!).waitFor()
  })
})

it('a kind that was removed stays visible, says why it cannot be answered, and can be answered after it is back', async () => {
  const data = folderWithKind()
  const port = await portToKeep()
  const first = await serve({ data, port })
  const sessionId = await first.session()
  const [kept, cancelled] = [await ask(first, timeSlot, sessionId), await ask(first, timeSlot, sessionId)]
  await first.stop('SIGTERM')

  rmSync(join(data, 'askback.config.ts'))
  const without = await serve({ data, port })
  const reason = 'does not have the kind “time_slot” any more'
  const { body } = await without.call<KindPromptResult>('GET', `${at(kept)}/prompt`)
  expect(body).toEqual({ prompt: null, reason: expect.stringContaining(reason) as string })
  const refused = await without.call('POST', `${at(kept)}/response`, { body: { answer: { slot: slots[0] } } })
  expect(refused).toMatchObject({ status: 400, body: { error: { code: 'unknown_kind' } } })
  const answering = run(['answer', kept.interactionId, `slot=${slots[0]}`, '--data', data])
  expect(await answering.ended).toMatchObject({ code: 2 })
  expect(answering.stderr).toContain(reason)
  const page = await openWindow(without)
  await goTo(page, `#/s/${sessionId}`)
  const cardOf = ({ interactionId }: Interaction) => page.locator(`[data-interaction="${interactionId}"]`)
  for (const item of [kept, cancelled]) await cardOf(item).getByText(reason).waitFor()
  await settle(cardOf(cancelled), 'Cancel the request')
  expect(await settled(without, cancelled)).toMatchObject({ settlement: 'cancelled' })
  await without.stop('SIGTERM')

  writeFileSync(
    join(data, 'askback.config.ts'),
    `import { timeSlot } from './time-slot'
     export default { kinds: [timeSlot] }`,
  )
  const again = await serve({ data, port })
  await page.reload()
  await cardOf(kept).getByRole('radio', { name: slots[0]! }).check()
  await settle(cardOf(kept), 'Submit')
  expect(await settled(again, kept)).toMatchObject({ answer: { slot: slots[0] }, via: 'web' })
})
