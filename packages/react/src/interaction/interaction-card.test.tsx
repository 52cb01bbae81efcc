// @vitest-environment happy-dom
import { askedQuestion, settled, type ScriptedTransport } from '@askback/client/testing'
import { AskbackError, type SettlementKind } from '@askback/protocol'
import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { focusInteraction } from '../index.js'
import { NOW, pass, show, stillTime } from '../show.test.helper.js'

stillTime()

function card(): HTMLElement {
  return document.querySelector<HTMLElement>('.ab-card')!
}

async function choose(user: { click: (element: Element) => Promise<void> }, name = /SQLite/): Promise<void> {
  await user.click(screen.getByRole('radio', { name }))
  await user.click(screen.getByRole('button', { name: 'Submit' }))
}

it('what was answered by the default of its deadline does not say that a rule did it', async () => {
  const answer = { answers: [{ selected: ['SQLite'] }] }
  await show({
    events: [
      ...askedQuestion('i1', { expiresAt: 1, onTimeout: { answer } }),
      ...settled('i1', { kind: 'question', settlement: 'answered', via: 'policy', answer }),
    ],
  })
  expect(card().textContent).toContain('with the default answer: nobody answered in time')
  expect(card().textContent).not.toContain('rule')
})

describe('an answer on its way', () => {
  it('goes from pending over submitting to settled, and never back', async () => {
    let go = () => {}
    const { user } = await show({
      events: askedQuestion('i1'),
      change: (transport) => {
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
    await pass(0)
    watch.disconnect()
    expect([...new Set(phases)].filter((phase) => phase !== 'pending')).toEqual(['submitting', 'settled'])
    expect(phases.slice(phases.indexOf('submitting'))).not.toContain('pending')
  })

  it('that is refused keeps what was chosen, and can be sent again', async () => {
    const { user, answers } = await show({
      events: askedQuestion('i1'),
      change: (transport) => transport.failNext('respond', new AskbackError('internal', 'The disk is full.')),
    })
    await choose(user)
    await pass(0)
    expect(screen.getByRole('alert').textContent).toContain('The disk is full.')
    expect(screen.getByRole<HTMLInputElement>('radio', { name: /SQLite/ }).checked).toBe(true)
    await user.click(screen.getByRole('button', { name: 'Try again' }))
    await pass(0)
    expect(answers()).toHaveLength(2)
    screen.getByText('Answered')
  })

  it('that is refused can be changed and sent', async () => {
    const { user, answers } = await show({
      events: askedQuestion('i1'),
      change: (transport) => transport.failNext('respond', new AskbackError('internal', 'No.')),
    })
    await choose(user)
    await pass(0)
    await user.click(screen.getByRole('radio', { name: /Postgres/ }))
    await user.click(screen.getByRole('button', { name: 'Try again' }))
    expect(answers().at(-1)).toEqual({ answers: [{ selected: ['Postgres'] }] })
  })

  it('is kept while the gateway cannot be reached, and sent when it is back', async () => {
    const { user, transport } = await show({ events: askedQuestion('i1') })
    transport.online(false)
    await choose(user)
    await pass(0)
    screen.getByText(/Askback keeps your answer and/)
    transport.online(true)
    await pass(60_000)
    screen.getByText('Answered')
  })

  it('is bound to the request that was shown', async () => {
    const { user, transport } = await show({ events: askedQuestion('i1') })
    await choose(user)
    const respond = transport.calls.find(({ method }) => method === 'respond')
    expect(respond?.args[0]).toMatchObject({ interactionId: 'i1', digest: 'digest-i1' })
  })

  it('that came second shows the one that came first', async () => {
    const { user } = await show({ events: askedQuestion('i1'), change: answerFirst })
    await choose(user)
    await pass(0)
    expect(card().textContent).toContain('Postgres')
    expect(card().textContent).toContain('by Bo on Telegram')
    expect(card().textContent).not.toContain('SQLite')
  })
})

/** Somebody else answers just before. */
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

describe('an end that came from elsewhere', () => {
  it('shows who answered, and on what', async () => {
    const { play } = await show({ events: askedQuestion('i1') })
    await play(...answeredByBo())
    expect(card().textContent).toContain('Answeredby Bo on Telegram')
    expect(screen.queryByRole('radio')).toBeNull()
  })

  it('is announced', async () => {
    const { play, container } = await show({ events: askedQuestion('i1') })
    await play(...answeredByBo())
    expect(container.querySelector('[aria-live]')?.textContent).toContain('Answered by Bo on Telegram')
  })

  it.each<[SettlementKind, RegExp]>([
    ['timed_out', /Timed out/],
    ['cancelled', /Cancelled/],
  ])('that is %s does not look like an answer', async (settlement, words) => {
    await show({ events: [...askedQuestion('i1'), ...settled('i1', { kind: 'question', settlement })] })
    screen.getByText(words)
    expect(card().dataset['tone']).toBe('gone')
    expect(screen.queryByText('Answered')).toBeNull()
  })
})

describe('a deadline', () => {
  const inTime = (ms: number) => ({ expiresAt: NOW + ms })

  it('is calm until the last two minutes, and then counts', async () => {
    await show({ events: askedQuestion('i1', inTime(3 * 60_000)), after: 0 })
    expect(screen.getByRole('timer').textContent).toBe('3 min left')
    await pass(75_000)
    expect(screen.getByRole('timer').textContent).toBe('1:45 left')
    await pass(100_000)
    expect(screen.getByRole('timer').textContent).toBe('0:05 left')
  })

  it.each([
    [60 * 60_000, '60 min left'],
    [(3 * 60 + 49) * 60_000, '4 hours left'],
    [3 * 24 * 60 * 60_000, '3 days left'],
  ])('[lesson 24] that is far away is told in words: %i ms', async (ms, words) => {
    await show({ events: askedQuestion('i1', inTime(ms)), after: 0 })
    expect(screen.getByRole('timer').textContent).toBe(words)
  })

  it('runs by the server’s clock', async () => {
    await show({
      events: askedQuestion('i1', inTime(10 * 60_000)),
      after: 0,
      change: (transport) => {
        const snapshot = transport.snapshot.bind(transport)
        transport.snapshot = async (id) => ({ ...(await snapshot(id)), now: NOW + 5 * 60_000 })
      },
    })
    expect(screen.getByRole('timer').textContent).toBe('5 min left')
  })

  it('that is over closes the controls', async () => {
    await show({ events: askedQuestion('i1', inTime(10_000)), after: 11_000 })
    expect(screen.getByRole('timer').textContent).toBe('Time is up')
    expect(screen.getByRole('group', { name: 'Which database?' }).hasAttribute('disabled')).toBe(true)
  })

  it('that keeps it open says so', async () => {
    await show({ events: askedQuestion('i1', { ...inTime(10_000), onTimeout: 'keep' }), after: 11_000 })
    expect(screen.getByRole('timer').textContent).toBe('Overdue')
    expect(screen.getByRole('group', { name: 'Which database?' }).hasAttribute('disabled')).toBe(false)
  })
})

describe('a draft', () => {
  it('survives a reload, and belongs to its interaction alone', async () => {
    const { user, reload } = await show({ events: [...askedQuestion('i1'), ...askedQuestion('i2')] })
    await user.click(screen.getAllByRole('radio', { name: /SQLite/ })[0]!)
    await pass(300)
    await reload()
    const chosen = screen
      .getAllByRole<HTMLInputElement>('radio', { name: /SQLite/ })
      .map(({ checked }) => checked)
    expect(chosen).toEqual([true, false])
  })

  it('is gone when the interaction is settled', async () => {
    const { user, play } = await show({ events: askedQuestion('i1') })
    await user.click(screen.getByRole('radio', { name: /SQLite/ }))
    await pass(300)
    expect(localStorage.getItem('askback.draft.i1')).not.toBeNull()
    await play(...answeredByBo())
    await pass(300)
    expect(localStorage.getItem('askback.draft.i1')).toBeNull()
  })

  it('that somebody else left there is not taken', async () => {
    localStorage.setItem('askback.draft.i1', '{"at":1,"draft":[{"selected":"x"}]}')
    await show({ events: askedQuestion('i1') })
    expect(screen.getAllByRole<HTMLInputElement>('radio').some(({ checked }) => checked)).toBe(false)
  })
})

it('Escape leaves a control for its card, and the card for the page', async () => {
  await show({ events: askedQuestion('i1') })
  expect(focusInteraction('i1')).toBe(true)
  expect(document.activeElement).toBe(card())
  screen.getByRole('radio', { name: /SQLite/ }).focus()
  fireEvent.keyDown(document.activeElement!, { key: 'Escape' })
  expect(document.activeElement).toBe(card())
  fireEvent.keyDown(card(), { key: 'Escape' })
  expect(document.activeElement).toBe(document.body)
})

it('keeps the focus when the control that had it is gone', async () => {
  const { user } = await show({ events: askedQuestion('i1') })
  await choose(user)
  await pass(0)
  expect(document.activeElement).toBe(card())
})
