import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { BotApiServer, TOKEN } from '../../connectors/bot-api-server.js'
import { newFolder } from '../http/command.js'
import { serve } from '../http/gateways.js'
import { textOf } from './browser.js'
import { openWindow } from './window.js'

const CHAT = '1001'

it('the settings show a code that pairs a chat in Telegram', async () => {
  const telegram = await new BotApiServer().listen()
  onTestFinished(() => telegram.close())
  const data = newFolder()
  const connectors = { telegram: { apiRoot: telegram.url } }
  writeFileSync(join(data, 'config.json'), JSON.stringify({ connectors }))
  const gateway = await serve({ data, env: { ASKBACK_TELEGRAM_TOKEN: TOKEN } })
  const page = await openWindow(gateway)
  await page.getByRole('button', { name: 'Settings' }).click()
  const button = page.getByRole('button', { name: 'Answer in Telegram' })
  await page.route('**/pairings', (route) => route.abort(), { times: 1 })
  await button.click()
  await page.getByText('The gateway couldn’t create a code. Try again in a moment.').waitFor()
  await button.click()
  const command = await textOf(page.getByText(/^\/pair /))
  const link = page.getByRole('link', { name: 'open the chat' })
  await expect.poll(() => link.getAttribute('href')).toContain(command.replace('/pair ', '').trim())
  await expect.poll(() => page.getByRole('alert').count()).toBe(0)

  await gateway.open(await gateway.session())
  telegram.write(CHAT, 1001, command)
  await expect.poll(() => telegram.in(CHAT).some(({ text }) => text.includes('Which?'))).toBe(true)
})
