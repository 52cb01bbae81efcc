// @vitest-environment happy-dom
import { asked } from '@askback/client/testing'
import { fireEvent, render, within } from '@testing-library/react'
import { expect, it } from 'vitest'
import { Conversation, Inbox, TransportProvider } from './index.js'
import { pass, show, stillTime } from './show.test.helper.js'

stillTime()

it('keeps what cannot be sent from two windows, each answer on its own, until it was sent', async () => {
  const { transport, container: one } = await show({ events: [...asked('i1'), ...asked('i2')] })
  const { container: other } = render(
    <TransportProvider transport={transport}>
      <Conversation sessionId="s1" />
    </TransportProvider>,
  )
  await pass(400)
  transport.online(false)
  press(one, 'i1', 'Approve once')
  press(other, 'i2', 'Deny')
  await pass(0)
  expect(Object.keys(localStorage).toSorted()).toEqual(['askback.outbox.i1', 'askback.outbox.i2'])
  transport.online(true)
  await pass(0)
  expect(Object.keys(localStorage)).toEqual([])
})

it('forgets what was written to a session that is deleted, and to no other', async () => {
  const { transport } = await show({
    ui: <Inbox />,
    change: ({ play }) => ['s1', 's2'].forEach((id) => play(id)),
  })
  for (const id of ['s1', 's2']) localStorage.setItem(`askback.composer.${id}`, 'Not sent yet')
  await transport.remove('s1')
  await pass(0)
  expect(Object.keys(localStorage)).toEqual(['askback.composer.s2'])
})

function press(page: HTMLElement, interactionId: string, name: string): void {
  const card = page.querySelector<HTMLElement>(`[data-interaction="${interactionId}"]`)!
  fireEvent.click(within(card).getByRole('button', { name }))
}
