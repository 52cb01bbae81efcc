// @vitest-environment happy-dom
import { asked, askedQuestion, settled, type ScriptedTransport } from '@askback/client/testing'
import { act, fireEvent, screen, within } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { focusNextInteraction, Inbox } from '../index.js'
import { NOW, pass, show, stillTime } from '../show.test.helper.js'

stillTime()

const onOpenSession = vi.fn<(sessionId: string, interactionId: string) => void>()

function inbox() {
  return show({
    events: askedQuestion('i1'),
    ui: <Inbox onOpenSession={onOpenSession} />,
    change: (transport) => void transport.play('s2', ...asked('i2')),
  })
}

it('holds what waits in all sessions, to be answered in place', async () => {
  const { user, answers } = await inbox()
  expect(document.querySelectorAll('.ab-card')).toHaveLength(2)
  await user.click(screen.getByRole('radio', { name: /SQLite/ }))
  await user.click(screen.getByRole('button', { name: 'Submit' }))
  await pass(0)
  expect(answers()).toEqual([{ answers: [{ selected: ['SQLite'] }] }])
  expect(screen.queryByText('Which database?')).toBeNull()
})

it('says how many wait in all, and how many of them it shows', async () => {
  const change = (transport: ScriptedTransport) => {
    const all = transport.inbox.bind(transport)
    transport.inbox = async (query) => ({ ...(await all(query)), next: 'more', total: 250 })
  }
  await show({ events: askedQuestion('i1'), ui: <Inbox />, change })
  expect(screen.getByRole('status').textContent).toBe('250 requests wait')
  expect(screen.getByRole('button', { name: 'Show more (1 of 250 shown)' })).toBeDefined()
})

it('begins with the oldest', async () => {
  await show({
    events: askedQuestion('younger', { requestedAt: NOW + 2000 }),
    ui: <Inbox />,
    change: (transport) => void transport.play('s2', ...asked('older', { requestedAt: NOW + 1000 })),
  })
  const shown = [...document.querySelectorAll<HTMLElement>('.ab-card')]
  expect(shown.map(({ dataset }) => dataset['interaction'])).toEqual(['older', 'younger'])
})

it('J and K go from card to card, and never to what decides', async () => {
  await inbox()
  const cards = [...document.querySelectorAll<HTMLElement>('.ab-card')]
  fireEvent.keyDown(document.querySelector('.ab-inbox')!, { key: 'j' })
  expect(document.activeElement).toBe(cards[0])
  fireEvent.keyDown(cards[0]!, { key: 'j' })
  expect(document.activeElement).toBe(cards[1])
  fireEvent.keyDown(cards[1]!, { key: 'k' })
  expect(document.activeElement).toBe(cards[0])
})

it('the next is the next that waits, wherever the focus is', async () => {
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

it('leads to the session', async () => {
  const { user } = await inbox()
  const [first] = screen.getAllByRole('listitem')
  await user.click(within(first!).getByRole('button', { name: /Untitled/ }))
  expect(onOpenSession).toHaveBeenCalledWith('s1', 'i1')
})

it('says where it was asked also if that session is not in the list of the newest', async () => {
  await show({
    ui: <Inbox onOpenSession={onOpenSession} />,
    change: (transport) => {
      void transport.create({ title: 'The old shop', cwd: '/home/ada/shop' })
      transport.play('s2', ...asked('i1'))
      transport.sessions = () => Promise.resolve({ sessions: [], next: 'more' })
    },
  })
  screen.getByRole('button', { name: /The old shop/ })
  screen.getByRole('radio', { name: /Always/ })
})

it('says so when nothing waits', async () => {
  await show({ ui: <Inbox /> })
  screen.getByText('All caught up.')
})

it('says who answered elsewhere and on what before the card leaves', async () => {
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
  await pass(4999)
  expect(document.querySelectorAll('.ab-inbox-item')).toHaveLength(2)
  // The alarm, and the redraw after it.
  await pass(2)
  expect(document.querySelectorAll('.ab-inbox-item')).toHaveLength(1)
})

it('[lesson 22] counts down by the clock of the gateway', async () => {
  const hour = 3_600_000
  await show({
    ui: <Inbox />,
    change: (transport) => {
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
])(
  '[lesson 22] counts by it also where our clock is %s and the first request comes later',
  async (_, minutes) => {
    vi.setSystemTime(NOW + minutes * 60_000)
    const { play } = await show({ ui: <Inbox /> })
    await play(...asked('i1', { requestedAt: NOW + 1000, expiresAt: NOW + 1000 + 10 * 60_000 }))
    expect(screen.getByRole('timer').textContent).toBe('10 min left')
  },
)

it('keeps settled cards until pointer and focus have left the list, so that nothing moves under them', async () => {
  const { play } = await inbox()
  const list = screen.getByRole('list')
  const cards = () => document.querySelectorAll('.ab-inbox-item').length
  fireEvent.pointerEnter(list)
  await play(...settled('i1', { kind: 'question', settlement: 'cancelled' }))
  await pass(60_000)
  expect(cards()).toBe(2)
  const [first] = document.querySelectorAll<HTMLElement>('.ab-card')
  act(() => first!.focus())
  fireEvent.pointerLeave(list)
  await pass(60_000)
  expect(cards()).toBe(2)
  act(() => first!.blur())
  await pass(0)
  expect(cards()).toBe(1)
})
