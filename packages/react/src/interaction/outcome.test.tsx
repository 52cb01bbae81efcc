// @vitest-environment happy-dom
import { asked, scriptedTransport, settled } from '@askback/client/testing'
import { render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { Conversation, TransportProvider } from '../index.js'
import { pass, stillTime } from '../show.test.helper.js'

stillTime()

const ada = { id: 'p1', name: 'root' }

async function outcome(settlement: Parameters<typeof settled>[1], personId?: string): Promise<string> {
  const transport = scriptedTransport()
  transport.play('s1', ...asked('i1'), ...settled('i1', settlement))
  render(
    <TransportProvider transport={transport} {...(personId !== undefined && { personId })}>
      <Conversation sessionId="s1" />
    </TransportProvider>,
  )
  await pass(0)
  const text = document.querySelector('.ab-outcome-text')
  return [...(text?.children ?? [])].map(({ textContent }) => textContent).join(' ')
}

it.each([
  ['p1', 'Denied by you in the browser'],
  ['p2', 'Denied by root in the browser'],
  [undefined, 'Denied by root in the browser'],
])('a decision of p1 is shown to %s as: %s', async (personId, words) => {
  expect(await outcome({ settlement: 'denied', by: ada, via: 'web' }, personId)).toBe(words)
})

it.each([
  ['p1', 'You stopped this'],
  ['p2', 'Cancelled by root in the browser'],
])('what p1 stopped is shown to %s as: %s', async (personId, words) => {
  expect(await outcome({ settlement: 'cancelled', by: ada, via: 'web' }, personId)).toBe(words)
})

it('what nobody stopped is said to be no longer needed', async () => {
  expect(await outcome({ settlement: 'cancelled' })).toBe('Cancelled: the agent no longer waits for this')
  expect(screen.queryByText(/You stopped/)).toBeNull()
})
