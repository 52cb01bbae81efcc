// @vitest-environment happy-dom
import { askedQuestion } from '@askback/client/testing'
import { screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { Conversation } from '../index.js'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'
import { Composer } from './use-composer.test.helper.js'

setUpComponentTests()

describe('beside a card with several questions', () => {
  const questions = [
    { question: 'Who reviews?', options: [{ label: 'Alice' }, { label: 'Bob' }] },
    { question: 'Which day?', options: [{ label: 'Monday' }, { label: 'Friday' }] },
    { question: 'Which room?', options: [] },
  ]
  const events = (count: number) => askedQuestion('i1', { request: { questions: questions.slice(0, count) } })
  const message = () => screen.getByRole('textbox', { name: 'Message' })

  async function page(count: number) {
    const ui = (
      <>
        <Conversation sessionId="s1" />
        <Composer />
      </>
    )
    const shown = await renderSession({ events: events(count), ui })
    const press = async (name: string | RegExp, role = 'button') => {
      await shown.user.click(screen.getByRole(role, { name }))
      await advanceTime(0)
    }
    const write = async (text: string) => {
      await shown.user.type(message(), text)
      await press('Send')
    }
    const sent = () => shown.transport.calls.filter(({ method }) => method === 'send')
    return { ...shown, press, write, sent }
  }

  it('a text answers the question that the card shows, and keeps the earlier choices', async () => {
    const { press, write, sent, answers } = await page(2)
    await press(/Bob/, 'radio')
    await press('Next')
    screen.getByText('Replying to: Which day?')
    await write('friday')
    expect(sent()).toEqual([])
    expect(answers()).toEqual([{ answers: [{ selected: ['Bob'] }, { selected: ['Friday'] }] }])
  })

  it('a text fills in the card while other questions are unanswered, also after skipping one', async () => {
    const { press, write, sent, answers } = await page(3)
    await press(/Which day/)
    await write('Sunday')
    expect([sent(), answers()]).toEqual([[], []])
    screen.getByText('Replying to: Who reviews?')
    await press(/Which day/)
    expect(screen.getByRole<HTMLTextAreaElement>('textbox', { name: /Other/ }).value).toBe('Sunday')
    await press(/Which room/)
    await write('12')
    screen.getByText('Replying to: Who reviews?')
    await press(/Alice/, 'radio')
    await press('Submit')
    expect(answers()).toEqual([
      {
        answers: [{ selected: ['Alice'] }, { selected: [], other: 'Sunday' }, { selected: [], other: '12' }],
      },
    ])
  })

  it('a text that was begun for one question is not sent as the answer to another', async () => {
    const { press, write, sent, answers, user } = await page(2)
    await press(/Bob/, 'radio')
    await user.type(message(), 'Car')
    await press('Next')
    await write('ol')
    screen.getByText(/Press again/)
    expect([sent(), answers()]).toEqual([[], []])
    screen.getByText('Replying to: Which day?')
  })

  it('a text goes to the gateway if the card and the log are at the same question', async () => {
    const { press, write, sent, play } = await page(3)
    await press(/Bob/, 'radio')
    await write('Carol')
    expect(sent().map(({ args }) => args[1])).toEqual([
      { text: 'Carol', route: 'interaction', interactionId: 'i1', questionIndex: 0 },
    ])
    const stored = [{ selected: [], other: 'Carol' }]
    await play({ type: 'interaction_progress', interactionId: 'i1', answers: stored })
    screen.getByText('Replying to: Which day?')
    await press(/Who reviews/)
    expect(screen.getByRole<HTMLInputElement>('radio', { name: /Bob/ }).checked).toBe(false)
    expect(screen.getByRole<HTMLTextAreaElement>('textbox', { name: /Other/ }).value).toBe('Carol')
  })

  it('an answer that was changed on the card is sent together with a text for a later question', async () => {
    const { press, write, sent, play, answers } = await page(2)
    await play({ type: 'interaction_progress', interactionId: 'i1', answers: [{ selected: ['Alice'] }] })
    await press(/Who reviews/)
    await press(/Bob/, 'radio')
    await press('Next')
    await write('Friday')
    expect(sent()).toEqual([])
    expect(answers()).toEqual([{ answers: [{ selected: ['Bob'] }, { selected: ['Friday'] }] }])
  })
})
