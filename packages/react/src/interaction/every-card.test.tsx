// @vitest-environment happy-dom
import { asked, askedQuestion, settled } from '@askback/client/testing'
import { AskbackError, type Json, type NewEvent } from '@askback/protocol'
import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { NOW, advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

interface KindCase {
  kind: string
  events: (fields?: { expiresAt?: number; agentId?: string }) => NewEvent[]
  /** What a person does before the answer can be sent. */
  fill: () => void
  send: string
  answer: Json
}

const questionnaire = { presentation: 'questionnaire' } as const

const kinds: KindCase[] = [
  {
    kind: 'question',
    events: (fields) => askedQuestion('i1', fields),
    fill: () => fireEvent.click(screen.getByRole('radio', { name: /SQLite/ })),
    send: 'Submit',
    answer: { answers: [{ selected: ['SQLite'] }] },
  },
  {
    kind: 'approval',
    events: (fields) => asked('i1', fields),
    fill: () => undefined,
    send: 'Approve once',
    answer: { decision: 'approve', scope: 'once' },
  },
  {
    kind: 'plan_review',
    events: (fields) =>
      asked('i1', { kind: 'plan_review', ...questionnaire, request: { plan: '# Plan' }, ...fields }),
    fill: () => undefined,
    send: 'Proceed',
    answer: { decision: 'edit' },
  },
  {
    kind: 'form',
    events: (fields) =>
      asked('i1', {
        kind: 'form',
        ...questionnaire,
        request: {
          message: 'Release',
          schema: { fields: [{ name: 'version', type: 'text', label: 'Version' }] },
        },
        ...fields,
      }),
    fill: () => fireEvent.change(screen.getByLabelText('Version'), { target: { value: '1.0.0' } }),
    send: 'Submit',
    answer: { values: { version: '1.0.0' } },
  },
]

function card(): HTMLElement {
  return document.querySelector<HTMLElement>('.ab-card')!
}

function send(name: string): void {
  fireEvent.click(screen.getByRole('button', { name }))
}

describe.each(kinds)('a card of the kind $kind', ({ kind, events, fill, send: label, answer }) => {
  it('is pending, then submitting, then settled', async () => {
    let go = () => {}
    const { answers } = await renderSession({
      events: events(),
      prepareTransport: (transport) => {
        const respond = transport.respond.bind(transport)
        transport.respond = async (...args) => {
          await new Promise<void>((resolve) => (go = resolve))
          return respond(...args)
        }
      },
    })
    expect(card().dataset).toMatchObject({ phase: 'pending', tone: 'pending' })
    fill()
    send(label)
    await advanceTime(0)
    expect(card().dataset['phase']).toBe('submitting')
    expect(screen.getByRole<HTMLButtonElement>('button', { name: label }).disabled).toBe(true)
    go()
    await advanceTime(0)
    expect(card().dataset).toMatchObject({ phase: 'settled', tone: 'good' })
    expect(answers()).toEqual([answer])
  })

  it('keeps a refused answer, and offers to try again', async () => {
    const { answers } = await renderSession({
      events: events(),
      prepareTransport: (transport) =>
        transport.failNext('respond', new AskbackError('internal', 'The disk is full.')),
    })
    fill()
    send(label)
    await advanceTime(0)
    expect(screen.getByRole('alert').textContent).toContain('The disk is full.')
    send('Try again')
    await advanceTime(0)
    expect(answers()).toEqual([answer, answer])
    expect(card().dataset['phase']).toBe('settled')
  })

  it('shows who answered elsewhere, and on what', async () => {
    const { play } = await renderSession({ events: events() })
    const settlement = kind === 'approval' || kind === 'plan_review' ? 'approved' : 'answered'
    await play(...settled('i1', { kind, settlement, answer, by: { id: 'bo', name: 'Bo' }, via: 'telegram' }))
    expect(card().textContent).toContain('by Bo on Telegram')
    expect(screen.queryByRole('button', { name: label })).toBeNull()
  })

  it.each([
    ['timed_out', 'Timed out'],
    ['cancelled', 'Cancelled'],
  ] as const)('that is %s says so, and takes no answer', async (settlement, words) => {
    const { play } = await renderSession({ events: events() })
    await play(...settled('i1', { kind, settlement }))
    expect(card().textContent).toContain(words)
    expect(card().dataset).toMatchObject({ phase: 'settled', tone: 'gone' })
    expect(screen.queryByRole('button', { name: label })).toBeNull()
  })

  it('counts down, and closes at the deadline', async () => {
    const { answers } = await renderSession({ events: events({ expiresAt: NOW + 90_000 }), waitMs: 400 })
    fill()
    expect(screen.getByRole('timer').textContent).toBe('1:30 left')
    await advanceTime(90_000)
    expect(screen.getByRole('timer').textContent).toBe('Time is up')
    expect(screen.getByRole<HTMLButtonElement>('button', { name: label }).disabled).toBe(true)
    expect(answers()).toEqual([])
  })

  it('says which subagent asks', async () => {
    await renderSession({ events: events({ agentId: 'reviewer' }) })
    expect(card().textContent).toContain('asked by subagent reviewer')
  })

  it('arms after 300 ms, and does not focus a control', async () => {
    const { play, answers } = await renderSession()
    await play(...events())
    await advanceTime(200)
    fill()
    fireEvent.click(screen.getByRole('button', { name: label }))
    await advanceTime(0)
    expect(answers()).toEqual([])
    await advanceTime(100)
    send(label)
    await advanceTime(0)
    expect(answers()).toEqual([answer])
  })
})
