import { expect, it } from 'vitest'
import { serve } from '../http/gateways.js'
import { openWindow } from './window.js'

const telegram = { id: 'telegram', name: 'Telegram', pairs: true }

it('the settings show a code to answer in Telegram, where the gateway runs it', async () => {
  const page = await openWindow(await serve())
  // A real bot would need the network: only what the gateway says of one is made up.
  await page.route('**/api/connectors', (route) => route.fulfill({ json: { connectors: [telegram] } }))
  const link = 'https://t.me/askback_bot?start=K7QM-42XA'
  let asked = 0
  await page.route('**/api/connectors/telegram/pairings', (route) => {
    asked += 1
    return asked === 1
      ? route.fulfill({ status: 503, json: {} })
      : route.fulfill({ status: 201, json: { code: 'K7QM-42XA', link } })
  })
  await page.getByRole('button', { name: 'Settings' }).click()
  const button = page.getByRole('button', { name: 'Answer in Telegram' })
  await button.click()
  await page.getByText('The gateway made no code. Try again in a moment.').waitFor()
  await button.click()
  await page.getByText('/pair K7QM-42XA').waitFor()
  expect(await page.getByRole('link', { name: 'open the chat' }).getAttribute('href')).toBe(link)
  expect(await page.getByRole('alert').count()).toBe(0)
})
