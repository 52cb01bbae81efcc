// @vitest-environment happy-dom
import { askedQuestion, settled, type ScriptedTransport } from '@askback/client/testing'
import { AskbackError, type SettlementKind } from '@askback/protocol'
import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { focusInteraction } from '../index.js'
import { NOW, advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

function card(): HTMLElement {
  return document.querySelector<HTMLElement>('.ab-card')!
}

async function choose(user: { click: (element: Element) => Promise<void> }, name = /SQLite/): Promise<void> {
  await user.click(screen.getByRole('radio', { name }))
  await user.click(screen.getByRole('button', { name: 'Submit' }))
}

it('a default answer at the deadline is not shown as the decision of a rule', async () => {
  const answer = { answers: [{ selected: ['SQLite'] }] }
  await renderSession({
    events: [
      ...askedQuestion('i1', { expiresAt: 1, onTimeout: { answer } }),
      ...settled('i1', { kind: 'question', settlement: 'answered', via: 'policy', answer }),
    ],
  })
  expect(card().textContent).toContain('with the default answer: nobody answered in time')
  expect(card().textContent).not.toContain('rule')
})

describe('an answer that is being sent', () => {
  it('goes from pending to submitting to settled, and never back', async () => {
    let go = () => {}
    const { user } = await renderSession({
      events: askedQuestion('i1'),
      prepareTransport: (transport) => {
        const respond = transport.respond.bind(transport)
        transport.respond = async (...args) => {
          await new Promise<void>((resolve) => (go = resolve))
          return respond(...args)
        }
      },
    })
    const phases: (string | null)[] = []
    const watch = new MutationObserver(() => phases.push(card().getAttribute('data-phase')))
    watch.observe(document.body, { subtree: true, attributes: true, childList: true })
    await choose(user)
    expect(card().getAttribute('data-phase')).toBe('submitting')
    expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Submit' }).disabled).toBe(true)
    go()
    await advanceTime(0)
    watch.disconnect()
    expect([...new Set(phases)].filter((phase) => phase !== 'pending')).toEqual(['submitting', 'settled'])
    expect(phases.slice(phases.indexOf('submitting'))).not.toContain('pending')
  })

  it('that is refused keeps what was chosen, and can be sent again', async () => {
    const { user, answers } = await renderSession({
      events: askedQuestion('i1'),
      prepareTransport: (transport) =>
        transport.failNext('respond', new AskbackError('internal', 'The disk is full.')),
    })
    await choose(user)
    await advanceTime(0)
    expect(screen.getByRole('alert').textContent).toContain('The disk is full.')
    expect(screen.getByRole<HTMLInputElement>('radio', { name: /SQLite/ }).checked).toBe(true)
    await user.click(screen.getByRole('button', { name: 'Try again' }))
    await advanceTime(0)
    expect(answers()).toHaveLength(2)
    screen.getByText('Answered')
  })

  it('that is refused can be changed and sent', async () => {
    const { user, answers } = await renderSession({
      events: askedQuestion('i1'),
      prepareTransport: (transport) => transport.failNext('respond', new AskbackError('internal', 'No.')),
    })
    await choose(user)
    await advanceTime(0)
    await user.click(screen.getByRole('radio', { name: /Postgres/ }))
    await user.click(screen.getByRole('button', { name: 'Try again' }))
    expect(answers().at(-1)).toEqual({ answers: [{ selected: ['Postgres'] }] })
  })

  it('is stored while the gateway cannot be reached, and sent when it is back', async () => {
    const { user, transport } = await renderSession({ events: askedQuestion('i1') })
    transport.online(false)
    await choose(user)
    await advanceTime(0)
    screen.getByText(/Askback keeps your answer and/)
    transport.online(true)
    await advanceTime(60_000)
    screen.getByText('Answered')
  })

  it('is bound to the request that was shown', async () => {
    const { user, transport } = await renderSession({ events: askedQuestion('i1') })
    await choose(user)
    const respond = transport.calls.find(({ method }) => method === 'respond')
    expect(respond?.args[0]).toMatchObject({ interactionId: 'i1', digest: 'digest-i1' })
  })

  it('that came second shows the first one', async () => {
    const { user } = await renderSession({ events: askedQuestion('i1'), prepareTransport: answerFirst })
    await choose(user)
    await advanceTime(0)
    expect(card().textContent).toContain('Postgres')
    expect(card().textContent).toContain('by Bo on Telegram')
    expect(card().textContent).not.toContain('SQLite')
  })
})

/** Lets someone else answer just before the person. */
function answerFirst(transport: ScriptedTransport): void {
  const respond = transport.respond.bind(transport)
  transport.respond = (input, options) => {
    transport.play('s1', ...answeredByBo())
    return respond(input, options)
  }
}

function answeredByBo() {
  return settled('i1', {
    kind: 'question',
    settlement: 'answered',
    answer: { answers: [{ selected: ['Postgres'] }] },
    by: { id: 'bo', name: 'Bo' },
    via: 'telegram',
  })
}

describe('a settlement from elsewhere', () => {
  it('shows who answered, and on what', async () => {
    const { play } = await renderSession({ events: askedQuestion('i1') })
    await play(...answeredByBo())
    expect(card().textContent).toContain('Answeredby Bo on Telegram')
    expect(screen.queryByRole('radio')).toBeNull()
  })

  it('is announced', async () => {
    const { play, container } = await renderSession({ events: askedQuestion('i1') })
    await play(...answeredByBo())
    expect(container.querySelector('[aria-live]')?.textContent).toContain('Answered by Bo on Telegram')
  })

  it.each<[SettlementKind, RegExp]>([
    ['timed_out', /Timed out/],
    ['cancelled', /Cancelled/],
  ])('that is %s does not look like an answer', async (settlement, words) => {
    await renderSession({
      events: [...askedQuestion('i1'), ...settled('i1', { kind: 'question', settlement })],
    })
    screen.getByText(words)
    expect(card().dataset['tone']).toBe('gone')
    expect(screen.queryByText('Answered')).toBeNull()
  })
})

describe('a deadline', () => {
  const inTime = (ms: number) => ({ expiresAt: NOW + ms })

  it('is shown in minutes until the last two, and then in seconds', async () => {
    await renderSession({ events: askedQuestion('i1', inTime(3 * 60_000)), waitMs: 0 })
    expect(screen.getByRole('timer').textContent).toBe('3 min left')
    await advanceTime(75_000)
    expect(screen.getByRole('timer').textContent).toBe('1:45 left')
    await advanceTime(100_000)
    expect(screen.getByRole('timer').textContent).toBe('0:05 left')
  })

  it.each([
    [60 * 60_000, '60 min left'],
    [(3 * 60 + 49) * 60_000, '4 hours left'],
    [3 * 24 * 60 * 60_000, '3 days left'],
  ])('that is far away is shown in words: %i ms', async (ms, words) => {
    await renderSession({ events: askedQuestion('i1', inTime(ms)), waitMs: 0 })
    expect(screen.getByRole('timer').textContent).toBe(words)
  })

  it('runs by the gateway’s clock', async () => {
    await renderSession({
      events: askedQuestion('i1', inTime(10 * 60_000)),
      waitMs: 0,
      prepareTransport: (transport) => {
        const snapshot = transport.snapshot.bind(transport)
        transport.snapshot = async (id) => ({ ...(await snapshot(id)), now: NOW + 5 * 60_000 })
      },
    })
    expect(screen.getByRole('timer').textContent).toBe('5 min left')
  })

  it('that is over closes the controls', async () => {
    await renderSession({ events: askedQuestion('i1', inTime(10_000)), waitMs: 11_000 })
    expect(screen.getByRole('timer').textContent).toBe('Time is up')
    expect(screen.getByRole('group', { name: 'Which database?' }).hasAttribute('disabled')).toBe(true)
  })

  it('that keeps the request open says so', async () => {
    await renderSession({
      events: askedQuestion('i1', { ...inTime(10_000), onTimeout: 'keep' }),
      waitMs: 11_000,
    })
    expect(screen.getByRole('timer').textContent).toBe('Overdue')
    expect(screen.getByRole('group', { name: 'Which database?' }).hasAttribute('disabled')).toBe(false)
  })
})

describe('a draft', () => {
  it('survives a reload, and belongs to its interaction alone', async () => {
    const { user, reload } = await renderSession({ events: [...askedQuestion('i1'), ...askedQuestion('i2')] })
    await user.click(screen.getAllByRole('radio', { name: /SQLite/ })[0]!)
    await advanceTime(300)
    await reload()
    const chosen = screen
      .getAllByRole<HTMLInputElement>('radio', { name: /SQLite/ })
      .map(({ checked }) => checked)
    expect(chosen).toEqual([true, false])
  })

  it('is removed when the interaction is settled', async () => {
    const { user, play } = await renderSession({ events: askedQuestion('i1') })
    await user.click(screen.getByRole('radio', { name: /SQLite/ }))
    await advanceTime(300)
    expect(localStorage.getItem('askback.draft.i1')).not.toBeNull()
    await play(...answeredByBo())
    await advanceTime(300)
    expect(localStorage.getItem('askback.draft.i1')).toBeNull()
  })

  it('with another format is ignored', async () => {
    localStorage.setItem('askback.draft.i1', '{"at":1,"draft":[{"selected":"x"}]}')
    await renderSession({ events: askedQuestion('i1') })
    expect(screen.getAllByRole<HTMLInputElement>('radio').some(({ checked }) => checked)).toBe(false)
  })
})

it('Escape moves the focus from a control to its card, and from the card to the page', async () => {
  await renderSession({ events: askedQuestion('i1') })
  expect(focusInteraction('i1')).toBe(true)
  expect(document.activeElement).toBe(card())
  screen.getByRole('radio', { name: /SQLite/ }).focus()
  fireEvent.keyDown(document.activeElement!, { key: 'Escape' })
  expect(document.activeElement).toBe(card())
  fireEvent.keyDown(card(), { key: 'Escape' })
  expect(document.activeElement).toBe(document.body)
})

it('focuses the card when the focused control disappears', async () => {
  const { user } = await renderSession({ events: askedQuestion('i1') })
  await choose(user)
  await advanceTime(0)
  expect(document.activeElement).toBe(card())
})
