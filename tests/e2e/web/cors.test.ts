import { expect, it } from 'vitest'
import { serve } from '../http/gateways.js'
import { newPage } from './browser.js'
import { otherPort } from './other-port.js'

it('a page of an origin that --allow-origin names calls the API with a token, and no other page does', async () => {
  const [allowed, foreign] = [await otherPort(), await otherPort()]
  const gateway = await serve({ args: ['--allow-origin', allowed.url] })
  const { url, token } = gateway.ready
  const page = await newPage()
  const call = () =>
    page.evaluate(
      async ({ gatewayUrl, authorization }) => {
        const headers = {
          authorization,
          'content-type': 'application/json',
          'idempotency-key': 'k',
          'askback-surface': 'http',
        }
        const made = await fetch(`${gatewayUrl}/api/sessions`, {
          method: 'POST',
          headers,
          body: JSON.stringify({ agent: null }),
        })
        const { session } = (await made.json()) as { session: { id: string } }
        const missing = await fetch(`${gatewayUrl}/api/sessions/nothing`, { headers: { authorization } })
        const error = (await missing.json()) as { error: { code: string } }
        const stream = await fetch(`${gatewayUrl}/api/sessions/${session.id}/events`, {
          headers: { authorization, accept: 'text/event-stream', 'last-event-id': '0' },
        })
        const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
        let text = ''
        while (!text.includes('session_started')) text += (await reader.read()).value ?? ''
        await reader.cancel()
        const removed = await fetch(`${gatewayUrl}/api/sessions/${session.id}`, {
          method: 'DELETE',
          headers: { authorization },
        })
        return { made: made.status, error: error.error.code, removed: removed.status }
      },
      { gatewayUrl: url, authorization: `Bearer ${token}` },
    )
  await page.goto(allowed.url)
  await expect(call()).resolves.toEqual({ made: 201, error: 'not_found', removed: 202 })
  await page.goto(foreign.url)
  await expect(call()).rejects.toThrow('Failed to fetch')
})
