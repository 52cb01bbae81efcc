// @vitest-environment happy-dom
import { HttpTransport, WebSocketTransport, type Transport } from '@askback/client'
import { asked } from '@askback/client/testing'
import { fireEvent, render, within } from '@testing-library/react'
import { renderToString } from 'react-dom/server'
import { afterEach, expect, it, vi } from 'vitest'
import { AskbackProvider, Conversation, Inbox, useTransport } from './index.js'
import { advanceTime, renderSession, setUpComponentTests } from './render-session.test.helper.js'

setUpComponentTests()
afterEach(() => vi.unstubAllGlobals())

it('stores the unsent answers of two windows in separate entries until they are sent', async () => {
  const { transport, container: one } = await renderSession({ events: [...asked('i1'), ...asked('i2')] })
  const { container: other } = render(
    <AskbackProvider transport={transport}>
      <Conversation sessionId="s1" />
    </AskbackProvider>,
  )
  await advanceTime(400)
  transport.online(false)
  press(one, 'i1', 'Approve once')
  press(other, 'i2', 'Deny')
  await advanceTime(0)
  expect(Object.keys(localStorage).toSorted()).toEqual(['askback.outbox.i1', 'askback.outbox.i2'])
  transport.online(true)
  await advanceTime(0)
  expect(Object.keys(localStorage)).toEqual([])
})

it('removes the stored text of a session that is deleted, and of no other', async () => {
  const { transport } = await renderSession({
    ui: <Inbox />,
    prepareTransport: ({ play }) => ['s1', 's2'].forEach((id) => play(id)),
  })
  for (const id of ['s1', 's2']) localStorage.setItem(`askback.composer.${id}`, 'Not sent yet')
  await transport.remove('s1')
  await advanceTime(0)
  expect(Object.keys(localStorage)).toEqual(['askback.composer.s2'])
})

it.each([
  ['a WebSocket', {}, WebSocketTransport],
  ['HTTP, where the gateway has no WebSockets', { webSocket: false }, HttpTransport],
  ['HTTP with a token', { token: 'secret' }, HttpTransport],
])('streams over %s', (_, props, expected) => {
  vi.stubGlobal('WebSocket', () => undefined)
  expect(transportOf(props).constructor).toBe(expected)
})

it('can be rendered on a server that has a global WebSocket and no page', () => {
  vi.stubGlobal('WebSocket', () => undefined)
  vi.stubGlobal('document', undefined)
  delete (globalThis as { document?: unknown }).document
  expect(transportOf({ url: '/askback' }).constructor).toBe(HttpTransport)
})

function transportOf(props: { url?: string; token?: string; webSocket?: boolean }): Transport {
  const found: Transport[] = []
  renderToString(
    <AskbackProvider {...props}>
      <Reporter report={(transport) => found.push(transport)} />
    </AskbackProvider>,
  )
  return found[0]!
}

function Reporter({ report }: { report: (transport: Transport) => void }) {
  report(useTransport())
  return null
}

function press(page: HTMLElement, interactionId: string, name: string): void {
  const card = page.querySelector<HTMLElement>(`[data-interaction="${interactionId}"]`)!
  fireEvent.click(within(card).getByRole('button', { name }))
}
