// @vitest-environment happy-dom
import { asked, settled } from '@askback/client/testing'
import type { Json, NewEvent } from '@askback/protocol'
import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

function form(
  fields: Json,
  more: {
    id?: string
    initialValues?: Json
    errors?: Record<string, string>
    progress?: Json
    repromptOf?: string
  } = {},
) {
  const { id = 'i1', initialValues, ...rest } = more
  return asked(id, {
    kind: 'form',
    presentation: 'questionnaire',
    request: {
      message: 'Release',
      schema: { fields },
      ...(initialValues !== undefined && { initialValues }),
    },
    ...rest,
  })
}

function fill(name: RegExp | string, value: string): void {
  fireEvent.change(screen.getByLabelText(name), { target: { value } })
}

function submit(): void {
  fireEvent.click(screen.getByRole('button', { name: 'Submit' }))
}

async function answerTo(events: NewEvent[], act: () => void): Promise<unknown> {
  const { answers } = await renderSession({ events })
  act()
  submit()
  await advanceTime(0)
  return answers()[0]
}

const options = [
  { value: 1, label: 'One' },
  { value: 2, label: 'Two' },
]

describe('every type of field', () => {
  it('sends values of the right JSON type, without empty fields', async () => {
    const answer = await answerTo(
      form([
        { name: 'text', type: 'text', label: 'Text' },
        { name: 'area', type: 'textarea', label: 'Area' },
        { name: 'number', type: 'number', label: 'Number' },
        { name: 'boolean', type: 'boolean', label: 'Boolean' },
        { name: 'select', type: 'select', label: 'Select', options },
        { name: 'radio', type: 'radio', label: 'Radio', options },
        { name: 'multi', type: 'multiselect', label: 'Multi', options },
        { name: 'check', type: 'checkbox', label: 'Check' },
        { name: 'date', type: 'date', label: 'Date' },
        { name: 'time', type: 'time', label: 'Time' },
        { name: 'moment', type: 'datetime', label: 'Moment' },
        { name: 'empty', type: 'text', label: 'Empty' },
      ]),
      () => {
        fill('Text', 'hello')
        fill('Area', 'a\nb')
        fill('Number', '1.5')
        fireEvent.click(screen.getByLabelText('No'))
        fill('Select', '1')
        const group = (name: string) => screen.getByRole('group', { name }).querySelectorAll('input')
        fireEvent.click(group('Radio')[0]!)
        fireEvent.click(group('Multi')[1]!)
        fireEvent.click(group('Multi')[0]!)
        fireEvent.click(screen.getByLabelText('Check'))
        fill('Date', '2026-02-28')
        fill('Time', '09:30')
        fill('Moment', '2026-02-28T09:30')
      },
    )
    expect(answer).toEqual({
      values: {
        text: 'hello',
        area: 'a\nb',
        number: 1.5,
        boolean: false,
        select: 2,
        radio: 1,
        multi: [2, 1],
        check: true,
        date: '2026-02-28',
        time: '09:30',
        moment: '2026-02-28T09:30',
      },
    })
  })

  it('starts with the initial values', async () => {
    const answer = await answerTo(
      form([{ name: 'a', type: 'text' }], { initialValues: { a: 'x' } }),
      () => {},
    )
    expect(answer).toEqual({ values: { a: 'x' } })
  })
})

describe('what a control cannot hold', () => {
  const field = (type: string) => [{ name: 'a', type, label: 'A' }]
  const formWith = (type: string, a: Json) => form(field(type), { initialValues: { a } })
  const control = () => screen.getByLabelText<HTMLInputElement>('A')

  it.each([
    ['text', 'one\ntwo', 'textarea'],
    ['datetime', '2026-02-28T09:30:00Z', 'text'],
    ['datetime', '2026-02-28T09:30:00+05:30', 'text'],
    ['date', 'tomorrow', 'text'],
    ['time', '9:30', 'text'],
  ])('as a %s, %j, is shown in a text field', async (type, value, shownAs) => {
    const answer = await answerTo(formWith(type, value), () => {
      expect([control().type, control().value]).toEqual([shownAs, value])
      fill('A', '')
      fill('A', `${value}!`)
      expect([control().type, control().value]).toEqual([shownAs, `${value}!`])
    })
    expect(answer).toEqual({ values: { a: `${value}!` } })
  })

  it.each([
    ['text', 'one', 'text'],
    ['datetime', '2026-02-28T09:30', 'datetime-local'],
    ['date', '2026-02-28', 'date'],
    ['time', '09:30', 'time'],
  ])('is not %s %j', async (type, value, shownAs) => {
    await renderSession({ events: formWith(type, value) })
    expect([control().type, control().value]).toEqual([shownAs, value])
  })

  it.each([
    ['select', 'z', undefined],
    ['radio', 3, undefined],
    ['multiselect', [1, 'z', 1], [1]],
  ])('as a %s, %j, is not sent if it is no option', async (type, a, sent) => {
    const answer = await answerTo(
      form([{ name: 'a', type, label: 'A', options }], { errors: { a: 'No.' }, progress: { values: { a } } }),
      () => expect(screen.queryByText('No.')).toBeNull(),
    )
    expect(answer).toEqual({ values: sent ? { a: sent } : {} })
  })
})

describe('a number', () => {
  const fields = [
    { name: 'n', type: 'number', label: 'Number' },
    { name: 'why', type: 'text', label: 'Why none', visibleWhen: { field: 'n', equals: null } },
  ]

  it.each([
    ['-', 'Must be a number.'],
    ['99999999999999999999', 'Too large to be kept exactly.'],
    ['-9007199254740993', 'Too large to be kept exactly.'],
  ])('typed as %j is reported and not sent', async (typed, error) => {
    const { answers } = await renderSession({ events: form(fields) })
    fill('Number', typed)
    expect(screen.queryByLabelText('Why none')).toBeNull()
    submit()
    screen.getByText(error)
    await advanceTime(0)
    expect(answers()).toEqual([])
  })
})

describe('fields that depend on others', () => {
  const fields = [
    { name: 'channel', type: 'select', label: 'Channel', options: [{ value: 'beta' }, { value: 'stable' }] },
    { name: 'percent', type: 'number', label: 'Percent', visibleWhen: { field: 'channel', equals: 'beta' } },
  ]

  it('appear and disappear with them, and hidden ones are not sent', async () => {
    const answer = await answerTo(form(fields), () => {
      expect(screen.queryByLabelText('Percent')).toBeNull()
      fill('Channel', '0')
      fill('Percent', '10')
      fill('Channel', '1')
      expect(screen.queryByLabelText('Percent')).toBeNull()
    })
    expect(answer).toEqual({ values: { channel: 'stable' } })
  })

  it('depend on what would be sent, without emptied fields', async () => {
    const answer = await answerTo(
      form([
        { name: 'note', type: 'text', label: 'Note' },
        { name: 'count', type: 'number', label: 'Count' },
        { name: 'why', type: 'text', label: 'Why none', visibleWhen: { field: 'note', equals: null } },
        { name: 'zero', type: 'text', label: 'Why zero', visibleWhen: { field: 'count', equals: 0 } },
      ]),
      () => {
        fill('Note', 'x')
        expect(screen.queryByLabelText('Why none')).toBeNull()
        fill('Note', '')
        fill('Why none', 'Nothing to say')
        fill('Count', '0')
        screen.getByLabelText('Why zero')
        fill('Count', '')
        expect(screen.queryByLabelText('Why zero')).toBeNull()
      },
    )
    expect(answer).toEqual({ values: { why: 'Nothing to say' } })
  })
})

describe('an invalid value', () => {
  const required = form([
    { name: 'a', type: 'text', label: 'First' },
    { name: 'b', type: 'text', label: 'Second', required: true },
    { name: 'c', type: 'number', label: 'Third', max: 3 },
  ])

  it('is reported next to its field, which gets the focus, and nothing is sent', async () => {
    const { answers } = await renderSession({ events: required })
    expect(screen.queryByText('Required.')).toBeNull()
    fill('Third', '4')
    submit()
    const second = screen.getByLabelText(/Second/)
    expect(second.getAttribute('aria-invalid')).toBe('true')
    expect(document.getElementById(second.getAttribute('aria-describedby')!)?.textContent).toBe('Required.')
    screen.getByText('Must be at most 3.')
    expect(document.activeElement).toBe(second)
    expect(answers()).toEqual([])
  })

  it('is reported by a reprompt of the gateway, which keeps what was typed', async () => {
    const reprompted = form(
      [
        { name: 'version', type: 'text', label: 'Version', pattern: '^\\d+\\.\\d+\\.\\d+$' },
        { name: 'notes', type: 'text', label: 'Notes' },
      ],
      { errors: { version: 'Does not match.' }, progress: { values: { version: '1.5', notes: 'All new' } } },
    )
    await renderSession({ events: reprompted })
    expect(screen.getByLabelText<HTMLInputElement>('Version').value).toBe('1.5')
    expect(screen.getByLabelText<HTMLInputElement>('Notes').value).toBe('All new')
    screen.getByText('Does not match.')
    fill('Version', '1.5.0')
    expect(screen.queryByText('Does not match.')).toBeNull()
  })
})

describe('a form that is reprompted', () => {
  const fields = [
    { name: 'a', type: 'text', label: 'First' },
    { name: 'b', type: 'text', label: 'Second', pattern: 'x+' },
    { name: 'more', type: 'checkbox', label: 'More' },
    { name: 'c', type: 'text', label: 'Third', visibleWhen: { field: 'more', equals: true } },
  ]
  const initialValues = { a: 'preset', b: 'y', c: 'hidden' }
  const [superseded] = settled('i1', { kind: 'form', settlement: 'superseded', supersededBy: 'i2' }) as [
    NewEvent,
  ]
  const text = (name: string) => screen.getByLabelText<HTMLInputElement>(name).value

  /** The events of a reprompt after refused values. */
  function again(values: Json): NewEvent[] {
    const what = { errors: { b: 'Does not match.' }, progress: { values }, repromptOf: 'i1' }
    return [superseded, ...form(fields, { id: 'i2', initialValues, ...what })]
  }

  it.each([
    ['a field', () => screen.getByLabelText('First')],
    ['the button', () => screen.getByRole('button', { name: 'Submit' })],
  ])('gives the focus to the first invalid field if %s had it', async (_, control) => {
    const { play } = await renderSession({ events: form(fields, { initialValues }) })
    control().focus()
    await play(...again({ a: 'preset', b: 'y' }))
    expect(document.activeElement).toBe(screen.getByLabelText('Second'))
  })

  it('does not take the focus from elsewhere', async () => {
    const { play } = await renderSession({ events: form(fields, { initialValues }) })
    screen.getByLabelText('First').focus()
    screen.getByLabelText('First').blur()
    await play(...again({ a: 'preset', b: 'y' }))
    screen.getByText('Does not match.')
    expect(document.activeElement).toBe(document.body)
  })

  it('keeps emptied fields empty, and gives hidden fields their initial values', async () => {
    const answer = await answerTo([...form(fields, { initialValues }), ...again({ b: 'y' })], () => {
      expect(text('First')).toBe('')
      fill('Second', 'xx')
      fireEvent.click(screen.getByLabelText('More'))
      expect(text('Third')).toBe('hidden')
    })
    expect(answer).toEqual({ values: { b: 'xx', more: true, c: 'hidden' } })
  })

  it('keeps what was typed here, also if the values of someone else were refused', async () => {
    const { play, reload } = await renderSession({ events: form(fields, { initialValues }) })
    fireEvent.click(screen.getByLabelText('More'))
    fill('Third', 'a long story')
    fireEvent.click(screen.getByLabelText('More'))
    fill('First', 'mine')
    await play(...again({ a: 'theirs', b: 'z' }))
    const check = () => {
      expect(text('First')).toBe('mine')
      expect(text('Second')).toBe('z')
      expect(screen.queryByLabelText('Third')).toBeNull()
      screen.getByText('Does not match.')
    }
    check()
    await reload()
    check()
    fireEvent.click(screen.getByLabelText('More'))
    expect(text('Third')).toBe('a long story')
  })

  it('does not show errors of values sent elsewhere for values typed here', async () => {
    const { play } = await renderSession({ events: form(fields, { initialValues }) })
    fill('Second', 'xx')
    await play(...again({ b: 'z' }))
    expect(screen.queryByText('Does not match.')).toBeNull()
  })

  it('is empty if another request replaced it', async () => {
    const { play } = await renderSession({ events: form(fields) })
    fill('First', 'mine')
    await play(superseded, ...form(fields, { id: 'i2' }))
    expect(text('First')).toBe('')
  })

  it('removes the draft once it is settled', async () => {
    const { play } = await renderSession({ events: form(fields) })
    fill('First', 'mine')
    await play(...again({ b: 'z' }))
    await advanceTime(1000)
    expect(Object.keys(localStorage)).toEqual(['askback.draft.i1'])
    await play(...settled('i2', { kind: 'form', settlement: 'cancelled' }))
    expect(Object.keys(localStorage)).toEqual([])
  })
})

describe('10,000 options', () => {
  const many = Array.from({ length: 10_000 }, (_, index) => ({ value: index, label: `Option ${index}` }))

  it('are searched, and only the first matches are drawn', async () => {
    const answer = await answerTo(
      form([{ name: 'a', type: 'multiselect', label: 'A', options: many }]),
      () => {
        expect(screen.getAllByRole('checkbox').length).toBeLessThanOrEqual(50)
        fireEvent.change(screen.getByRole('searchbox'), { target: { value: 'option 9999' } })
        fireEvent.click(screen.getByRole('checkbox', { name: 'Option 9999' }))
        fireEvent.change(screen.getByRole('searchbox'), { target: { value: '' } })
        screen.getByRole('button', { name: 'Remove Option 9999' })
      },
    )
    expect(answer).toEqual({ values: { a: [9999] } })
  })

  it('of which one may be chosen are searched too', async () => {
    const answer = await answerTo(form([{ name: 'a', type: 'select', label: 'A', options: many }]), () => {
      fireEvent.change(screen.getByRole('searchbox'), { target: { value: 'option 4242' } })
      fireEvent.keyDown(screen.getByRole('searchbox'), { key: 'Enter' })
    })
    expect(answer).toEqual({ values: { a: 4242 } })
  })
})

it('a half-filled form survives a reload', async () => {
  const { reload } = await renderSession({ events: form([{ name: 'a', type: 'text', label: 'A' }]) })
  fill('A', 'half')
  await advanceTime(300)
  await reload()
  expect(screen.getByLabelText<HTMLInputElement>('A').value).toBe('half')
})

it('collapses to the values that were sent', async () => {
  await renderSession({
    events: [
      ...form([{ name: 'a', type: 'select', label: 'Amount', options }]),
      ...settled('i1', { kind: 'form', settlement: 'answered', answer: { values: { a: 2 } } }),
    ],
  })
  screen.getByText('Amount')
  screen.getByText('Two')
})
