// @vitest-environment happy-dom
import { asked, askedQuestion, settled, type ScriptedTransport } from '@askback/client/testing'
import { act, fireEvent, screen, within } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { focusNextInteraction, Inbox } from '../index.js'
import { NOW, advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

const onOpenSession = vi.fn<(sessionId: string, interactionId: string) => void>()

function inbox() {
  return renderSession({
    events: askedQuestion('i1'),
    ui: <Inbox onOpenSession={onOpenSession} />,
    prepareTransport: (transport) => void transport.play('s2', ...asked('i2')),
  })
}

it('lists the pending requests of all sessions, which are answered in place', async () => {
  const { user, answers } = await inbox()
  expect(document.querySelectorAll('.ab-card')).toHaveLength(2)
  await user.click(screen.getByRole('radio', { name: /SQLite/ }))
  await user.click(screen.getByRole('button', { name: 'Submit' }))
  await advanceTime(0)
  expect(answers()).toEqual([{ answers: [{ selected: ['SQLite'] }] }])
  expect(screen.queryByText('Which database?')).toBeNull()
})

it('says how many requests wait, and how many of them are shown', async () => {
  const change = (transport: ScriptedTransport) => {
    const all = transport.inbox.bind(transport)
    transport.inbox = async (query) => ({ ...(await all(query)), next: 'more', total: 250 })
  }
  await renderSession({ events: askedQuestion('i1'), ui: <Inbox />, prepareTransport: change })
  expect(screen.getByRole('status').textContent).toBe('250 requests wait')
  expect(screen.getByRole('button', { name: 'Show more (1 of 250 shown)' })).toBeDefined()
})

it('starts with the oldest', async () => {
  await renderSession({
    events: askedQuestion('younger', { requestedAt: NOW + 2000 }),
    ui: <Inbox />,
    prepareTransport: (transport) =>
      void transport.play('s2', ...asked('older', { requestedAt: NOW + 1000 })),
  })
  const shown = [...document.querySelectorAll<HTMLElement>('.ab-card')]
  expect(shown.map(({ dataset }) => dataset['interaction'])).toEqual(['older', 'younger'])
})

it('J and K focus cards, and never a control', async () => {
  await inbox()
  const cards = [...document.querySelectorAll<HTMLElement>('.ab-card')]
  fireEvent.keyDown(document.querySelector('.ab-inbox')!, { key: 'j' })
  expect(document.activeElement).toBe(cards[0])
  fireEvent.keyDown(cards[0]!, { key: 'j' })
  expect(document.activeElement).toBe(cards[1])
  fireEvent.keyDown(cards[1]!, { key: 'k' })
  expect(document.activeElement).toBe(cards[0])
})

it('`focusNextInteraction` focuses the next waiting card, wherever the focus is', async () => {
  const { play } = await inbox()
  const [first, second] = document.querySelectorAll<HTMLElement>('.ab-card')
  focusNextInteraction(-1)
  expect(document.activeElement).toBe(second)
  expect(focusNextInteraction(1)).toBe(false)
  first!.focus()
  await play(...settled('i1', { kind: 'question', settlement: 'cancelled' }))
  expect(document.activeElement).toBe(first)
  focusNextInteraction(1)
  expect(document.activeElement).toBe(second)
})

it('opens the session of a request', async () => {
  const { user } = await inbox()
  const [first] = screen.getAllByRole('listitem')
  await user.click(within(first!).getByRole('button', { name: /Untitled/ }))
  expect(onOpenSession).toHaveBeenCalledWith('s1', 'i1')
})

it('names the session of a request also if it is not among the newest', async () => {
  await renderSession({
    ui: <Inbox onOpenSession={onOpenSession} />,
    prepareTransport: (transport) => {
      void transport.create({ title: 'The old shop', cwd: '/home/ada/shop' })
      transport.play('s2', ...asked('i1'))
      transport.sessions = () => Promise.resolve({ sessions: [], next: 'more' })
    },
  })
  screen.getByRole('button', { name: /The old shop/ })
  screen.getByRole('radio', { name: /Always/ })
})

it('says when nothing waits', async () => {
  await renderSession({ ui: <Inbox /> })
  screen.getByText('All caught up.')
})

it('says who answered elsewhere and on what, before the card disappears', async () => {
  const { play } = await inbox()
  const by = { id: 'grace', name: 'Grace' }
  await play(
    ...settled('i1', {
      kind: 'question',
      settlement: 'answered',
      answer: { answers: [{ selected: ['SQLite'] }] },
      by,
      via: 'telegram',
    }),
  )
  const [first] = screen.getAllByRole('listitem')
  expect(first!.textContent).toContain('by Grace on Telegram')
  expect(within(first!).queryByRole('button', { name: 'Submit' })).toBeNull()
  await advanceTime(4999)
  expect(document.querySelectorAll('.ab-inbox-item')).toHaveLength(2)
  // The timer, and the render after it.
  await advanceTime(2)
  expect(document.querySelectorAll('.ab-inbox-item')).toHaveLength(1)
})

it('counts down by the clock of the gateway', async () => {
  const hour = 3_600_000
  await renderSession({
    ui: <Inbox />,
    prepareTransport: (transport) => {
      const snapshot = transport.snapshot.bind(transport)
      transport.snapshot = async (sessionId) => ({ ...(await snapshot(sessionId)), now: NOW + hour })
      transport.play('s1', ...asked('i1', { expiresAt: NOW + hour + 5 * 60_000 }))
    },
  })
  expect(screen.getByRole('timer').textContent).toBe('5 min left')
})

it.each([
  ['ahead', 15],
  ['behind', -60],
])('counts down by the clock of the gateway while the local clock is %s', async (_, minutes) => {
  vi.setSystemTime(NOW + minutes * 60_000)
  const { play } = await renderSession({ ui: <Inbox /> })
  await play(...asked('i1', { requestedAt: NOW + 1000, expiresAt: NOW + 1000 + 10 * 60_000 }))
  expect(screen.getByRole('timer').textContent).toBe('10 min left')
})

it('keeps settled cards until pointer and focus have left the list', async () => {
  const { play } = await inbox()
  const list = screen.getByRole('list')
  const cards = () => document.querySelectorAll('.ab-inbox-item').length
  fireEvent.pointerEnter(list)
  await play(...settled('i1', { kind: 'question', settlement: 'cancelled' }))
  await advanceTime(60_000)
  expect(cards()).toBe(2)
  const [first] = document.querySelectorAll<HTMLElement>('.ab-card')
  act(() => first!.focus())
  fireEvent.pointerLeave(list)
  await advanceTime(60_000)
  expect(cards()).toBe(2)
  act(() => first!.blur())
  await advanceTime(0)
  expect(cards()).toBe(1)
})
