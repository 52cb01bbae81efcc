// @vitest-environment happy-dom
import { askedQuestion, settled } from '@askback/client/testing'
import type { Json } from '@askback/protocol'
import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

const features = {
  header: 'Features',
  question: 'Which features?',
  options: [{ label: 'Search, by name' }, { label: 'Cart' }],
  multiSelect: true,
}
const layout = {
  header: 'Layout',
  question: 'Which layout?',
  options: [{ label: 'Wide' }, { label: 'Narrow' }],
}
const twoQuestions: Json = { questions: [features, layout] }
const threeQuestions: Json = {
  questions: [features, layout, { header: 'Name', question: 'What name?', options: [] }],
}

function submit(): HTMLButtonElement {
  return screen.getByRole('button', { name: 'Submit' })
}

describe('one question', () => {
  it('shows its header, text and options, and takes no answer before one is chosen', async () => {
    await renderSession({ events: askedQuestion('i1') })
    screen.getByText('Database')
    screen.getByText('Which database?')
    expect(screen.getAllByRole('radio')).toHaveLength(3)
    expect(submit().disabled).toBe(true)
  })

  it('sends the label that was chosen', async () => {
    const { user, answers } = await renderSession({ events: askedQuestion('i1') })
    await user.click(screen.getByRole('radio', { name: /SQLite/ }))
    await user.click(submit())
    expect(answers()).toEqual([{ answers: [{ selected: ['SQLite'] }] }])
  })

  it('sends the text of “Other” only while it is chosen, and keeps it', async () => {
    const { user, answers } = await renderSession({ events: askedQuestion('i1') })
    await user.click(screen.getByRole('radio', { name: /Other/ }))
    expect(submit().disabled).toBe(true)
    await user.type(screen.getByRole('textbox'), 'DuckDB')
    expect(submit().disabled).toBe(false)
    await user.click(screen.getByRole('radio', { name: /Postgres/ }))
    expect(screen.getByRole<HTMLTextAreaElement>('textbox').value).toBe('DuckDB')
    await user.click(submit())
    expect(answers()).toEqual([{ answers: [{ selected: ['Postgres'] }] }])
  })

  it('chooses “Other” when the person types there', async () => {
    const { user, answers } = await renderSession({ events: askedQuestion('i1') })
    await user.click(screen.getByRole('radio', { name: /Other/ }))
    await user.type(screen.getByRole('textbox'), 'x')
    await user.click(screen.getByRole('radio', { name: /Postgres/ }))
    await user.type(screen.getByRole('textbox'), 'y')
    await user.click(submit())
    expect(answers()).toEqual([{ answers: [{ selected: [], other: 'xy' }] }])
  })

  it('collapses to a summary of what was chosen', async () => {
    const { user } = await renderSession({ events: askedQuestion('i1') })
    await user.click(screen.getByRole('radio', { name: /SQLite/ }))
    await user.click(submit())
    await advanceTime(0)
    expect(screen.queryByRole('radio')).toBeNull()
    screen.getByText('Answered')
    screen.getByText('SQLite')
  })

  it('sends a note with the answer, and shows it in the summary', async () => {
    const { user, answers } = await renderSession({ events: askedQuestion('i1') })
    await user.click(screen.getByRole('button', { name: 'Add a note' }))
    await user.type(screen.getByRole('textbox', { name: 'Note' }), 'for now ')
    expect(submit().disabled).toBe(true)
    await user.click(screen.getByRole('radio', { name: /SQLite/ }))
    await user.click(submit())
    await advanceTime(0)
    expect(answers()).toEqual([{ answers: [{ selected: ['SQLite'], note: 'for now' }] }])
    screen.getByText('for now')
  })

  it('keeps a note over a reload, and does not send an empty one', async () => {
    const { user, answers, reload } = await renderSession({ events: askedQuestion('i1') })
    await user.click(screen.getByRole('button', { name: 'Add a note' }))
    await user.type(screen.getByRole('textbox', { name: 'Note' }), 'x')
    await reload()
    await user.clear(screen.getByRole('textbox', { name: 'Note' }))
    await user.click(screen.getByRole('radio', { name: /SQLite/ }))
    await user.click(submit())
    expect(answers()).toEqual([{ answers: [{ selected: ['SQLite'] }] }])
  })

  it('is amber while it waits and emerald when it is answered', async () => {
    const { user, container } = await renderSession({ events: askedQuestion('i1') })
    const tone = () => container.querySelector('.ab-card')?.getAttribute('data-tone')
    expect(tone()).toBe('pending')
    await user.click(screen.getByRole('radio', { name: /SQLite/ }))
    await user.click(submit())
    await advanceTime(0)
    expect(tone()).toBe('good')
  })

  it('shows the preview of the focused option', async () => {
    const options = [
      { label: 'A', preview: 'picture of A' },
      { label: 'B', preview: 'picture of B' },
    ]
    const { user } = await renderSession({
      events: askedQuestion('i1', { request: { questions: [{ question: 'Which?', options }] } }),
    })
    await user.click(screen.getByRole('radio', { name: /B/ }))
    screen.getByText('picture of B')
    expect(screen.queryByText('picture of A')).toBeNull()
  })
})

describe('several questions', () => {
  it('are steps of one card, which can be submitted when each has an answer', async () => {
    const { user, answers } = await renderSession({
      events: askedQuestion('i1', { request: threeQuestions }),
    })
    await user.click(screen.getByRole('checkbox', { name: /Search, by name/ }))
    await user.click(screen.getByRole('checkbox', { name: /Cart/ }))
    expect(screen.queryByRole('button', { name: 'Submit' })).toBeNull()
    await user.click(screen.getByRole('button', { name: 'Next' }))
    await user.click(screen.getByRole('radio', { name: /Narrow/ }))
    await user.click(screen.getByRole('button', { name: 'Next' }))
    expect(submit().disabled).toBe(true)
    await user.type(screen.getByRole('textbox'), 'Shop')
    await user.click(submit())
    expect(answers()).toEqual([
      {
        answers: [
          { selected: ['Search, by name', 'Cart'] },
          { selected: ['Narrow'] },
          { selected: [], other: 'Shop' },
        ],
      },
    ])
  })

  it('start with the answers given on another surface', async () => {
    const progress = [{ selected: ['Cart'] }]
    await renderSession({ events: askedQuestion('i1', { request: threeQuestions, progress }) })
    screen.getByText('Which layout?')
  })

  it('show an answer given elsewhere while the person answers another step here', async () => {
    const { user, play, reload } = await renderSession({
      events: askedQuestion('i1', { request: threeQuestions }),
    })
    await user.click(screen.getByRole('button', { name: /Layout/ }))
    await user.click(screen.getByRole('radio', { name: /Narrow/ }))
    const answers = [{ selected: ['Cart'] }]
    await play({ type: 'interaction_progress', interactionId: 'i1', answers })
    const check = async () => {
      await user.click(screen.getByRole('button', { name: /Features/ }))
      expect(screen.getByRole<HTMLInputElement>('checkbox', { name: /Cart/ }).checked).toBe(true)
      await user.click(screen.getByRole('button', { name: /Layout/ }))
      expect(screen.getByRole<HTMLInputElement>('radio', { name: /Narrow/ }).checked).toBe(true)
    }
    await check()
    await reload()
    await check()
  })

  it('keep two labels with commas apart in the summary', async () => {
    const answer = {
      answers: [
        { selected: ['Search, by name', 'Cart'] },
        { selected: ['Wide'] },
        { selected: [], other: 'X' },
      ],
    }
    await renderSession({
      events: [
        ...askedQuestion('i1', { request: threeQuestions }),
        ...settled('i1', { kind: 'question', settlement: 'answered', answer }),
      ],
    })
    screen.getByText('Search, by name')
    screen.getByText('Cart')
  })
})

it('shortens a long header, and has all of it for screen readers and in the tooltip', async () => {
  const question = { header: 'A very long header\u200b', question: 'Which?', options: [] }
  const { play } = await renderSession({
    events: askedQuestion('i1', { request: { questions: [question] } }),
  })
  const check = () => {
    const chip = document.querySelector('.ab-chip')!
    expect(chip.querySelector('[aria-hidden]')?.textContent).toBe('A very long…')
    expect(chip.querySelector('.ab-sr-only')?.textContent).toMatch(/^A very long header.*200B/)
    expect(chip.querySelector('[title]')?.getAttribute('title')).toMatch(/^A very long header.*200B/)
  }
  check()
  const answer = { answers: [{ selected: [], other: 'Carol' }] }
  await play(...settled('i1', { kind: 'question', settlement: 'answered', answer }))
  check()
})

it.each([
  [{ selected: ['SQLite'] }, 'Selected:'],
  [{ selected: [], other: 'DuckDB' }, 'Answered:'],
])('says of %j in the summary: %s', async (reply, word) => {
  const answer = { answers: [reply] }
  const events = [
    ...askedQuestion('i1'),
    ...settled('i1', { kind: 'question', settlement: 'answered', answer }),
  ]
  await renderSession({ events })
  screen.getByText(word)
})

it('a stored choice of “Other” without a text does not take the focus', async () => {
  const { user, reload } = await renderSession({ events: askedQuestion('i1') })
  await user.click(screen.getByRole('radio', { name: /Other/ }))
  expect(document.activeElement).toBe(screen.getByRole('textbox'))
  await advanceTime(300)
  await reload()
  screen.getByRole('textbox')
  expect(document.activeElement).toBe(document.body)
})

describe('with the keyboard', () => {
  function card(): HTMLElement {
    return document.querySelector<HTMLElement>('.ab-card')!
  }

  it('a digit picks, and Enter sends', async () => {
    const { answers } = await renderSession({ events: askedQuestion('i1') })
    fireEvent.keyDown(card(), { key: '2' })
    fireEvent.keyDown(card(), { key: 'Enter' })
    await advanceTime(0)
    expect(answers()).toEqual([{ answers: [{ selected: ['SQLite'] }] }])
  })

  it('a digit after the last option is “Other”, and digits in its field are text', async () => {
    const { user } = await renderSession({ events: askedQuestion('i1') })
    fireEvent.keyDown(card(), { key: '3' })
    await user.type(screen.getByRole('textbox'), '1 or 2')
    expect(screen.getByRole<HTMLInputElement>('radio', { name: /Other/ }).checked).toBe(true)
  })

  it('holding Enter sends nothing, and neither does Enter without an answer', async () => {
    const { answers } = await renderSession({ events: askedQuestion('i1') })
    fireEvent.keyDown(card(), { key: 'Enter' })
    fireEvent.keyDown(card(), { key: '1' })
    fireEvent.keyDown(card(), { key: 'Enter', repeat: true })
    await advanceTime(0)
    expect(answers()).toEqual([])
  })

  it('Enter continues with the next question', async () => {
    await renderSession({ events: askedQuestion('i1', { request: threeQuestions }) })
    fireEvent.keyDown(card(), { key: '1' })
    fireEvent.keyDown(card(), { key: 'Enter' })
    screen.getByText('Which layout?')
  })

  it('Enter on the last question goes back to one that was skipped', async () => {
    const { user } = await renderSession({ events: askedQuestion('i1', { request: twoQuestions }) })
    await user.click(screen.getByRole('button', { name: /Layout/ }))
    for (const key of ['1', 'Enter']) fireEvent.keyDown(card(), { key })
    screen.getByText('Which features?')
  })

  it('Enter continues at once, as “Next” does, but does not send from a card that has just appeared', async () => {
    const { answers } = await renderSession({
      events: askedQuestion('i1', { request: twoQuestions }),
      waitMs: 0,
    })
    for (const key of ['1', 'Enter']) fireEvent.keyDown(card(), { key })
    screen.getByText('Which layout?')
    for (const key of ['1', 'Enter']) fireEvent.keyDown(card(), { key })
    await advanceTime(0)
    expect(answers()).toEqual([])
    await advanceTime(300)
    fireEvent.keyDown(card(), { key: 'Enter' })
    await advanceTime(0)
    expect(answers()).toHaveLength(1)
  })
})

it('the card has the focus after continuing with the keyboard', async () => {
  const { user } = await renderSession({ events: askedQuestion('i1', { request: threeQuestions }) })
  const card = document.querySelector('.ab-card')
  screen.getByRole('checkbox', { name: /Cart/ }).focus()
  await user.keyboard(' {Enter}')
  screen.getByText('Which layout?')
  expect(document.activeElement).toBe(card)
  await user.keyboard('1')
  screen.getByRole('button', { name: 'Next' }).focus()
  await user.keyboard('{Enter}')
  screen.getByText('What name?')
  expect(document.activeElement).toBe(card)
})

it('a request without questions is shown as JSON', async () => {
  await renderSession({ events: askedQuestion('i1', { request: { questions: [] } }) })
  screen.getByText(/can’t show/)
  expect(screen.queryByRole('radio')).toBeNull()
})
