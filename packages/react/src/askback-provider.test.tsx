// @vitest-environment happy-dom
import { asked } from '@askback/client/testing'
import { fireEvent, render, within } from '@testing-library/react'
import { expect, it } from 'vitest'
import { Conversation, Inbox, AskbackProvider } from './index.js'
import { advanceTime, renderSession, setUpComponentTests } from './render-session.test.helper.js'

setUpComponentTests()

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

function press(page: HTMLElement, interactionId: string, name: string): void {
  const card = page.querySelector<HTMLElement>(`[data-interaction="${interactionId}"]`)!
  fireEvent.click(within(card).getByRole('button', { name }))
}
