// @vitest-environment happy-dom
import { asked, askedQuestion, called, ended, settled, started, wrote } from '@askback/client/testing'
import type { NewEvent } from '@askback/protocol'
import { screen } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Conversation, type InteractionProps } from '../index.js'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'

setUpComponentTests()

const turnStarted: NewEvent = { type: 'turn_started', turnId: 't1' }
/** Streamed text is drawn once per frame. */
const FRAME_MS = 20
const r1 = { turnId: 't1', responseId: 'r1' }

function typing(): HTMLElement | null {
  return screen.queryByLabelText('The agent is working')
}

describe('the typing indicator', () => {
  it('is shown while the agent works, and not while it waits for a person', async () => {
    const { play } = await renderSession({ events: [turnStarted] })
    expect(typing()).not.toBeNull()
    await play(...askedQuestion('i1', r1))
    expect(typing()).toBeNull()
    await play(...settled('i1', { kind: 'question', settlement: 'cancelled', ...r1 }))
    expect(typing()).not.toBeNull()
  })

  it('is not shown after a reload while a request is pending', async () => {
    const { reload } = await renderSession({ events: [turnStarted, ...askedQuestion('i1', r1)] })
    await reload()
    expect(typing()).toBeNull()
  })
})

describe('text', () => {
  it('is shown while it is being written, and thinking is folded', async () => {
    const { transport, user } = await renderSession({ events: [turnStarted] })
    transport.playLive('s1', { type: 'thinking_delta', blockId: 'b0', offset: 0, text: 'Hmm' })
    transport.playLive('s1', { type: 'text_delta', blockId: 'b1', offset: 0, text: 'Hello **you' })
    await advanceTime(FRAME_MS)
    transport.playLive('s1', { type: 'text_delta', blockId: 'b1', offset: 11, text: '** there' })
    await advanceTime(FRAME_MS)
    expect(screen.getByText('you').tagName).toBe('STRONG')
    expect(screen.queryByText('Hmm')).toBeNull()
    await user.click(screen.getByRole('button', { name: 'Thinking…' }))
    screen.getByText('Hmm')
  })

  it('renders only the block again that has grown', async () => {
    const { transport } = await renderSession({ events: [turnStarted] })
    const grow = async (offset: number, text: string) => {
      transport.playLive('s1', { type: 'text_delta', blockId: 'b1', offset, text })
      await advanceTime(FRAME_MS)
    }
    await grow(0, 'First piece.\n\nSecond')
    const first = screen.getByText('First piece.')
    const mark = document.createComment('not drawn again')
    first.append(mark)
    await grow(20, ' piece')
    screen.getByText('Second piece')
    expect(screen.getByText('First piece.').contains(mark)).toBe(true)
  })
})

describe('in a hidden page, which has no frames', () => {
  beforeEach(() => {
    vi.spyOn(document, 'hidden', 'get').mockReturnValue(true)
    vi.stubGlobal('requestAnimationFrame', () => 0)
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })

  it('text is drawn as it is written, by a timer', async () => {
    const { transport } = await renderSession({ events: [turnStarted] })
    transport.playLive('s1', { type: 'text_delta', blockId: 'b1', offset: 0, text: 'Behind' })
    await advanceTime(249)
    expect(screen.queryByText('Behind')).toBeNull()
    await advanceTime(1)
    screen.getByText('Behind')
  })

  it('the typing indicator disappears when the turn ends', async () => {
    const { play } = await renderSession({ events: [turnStarted] })
    expect(typing()).not.toBeNull()
    await play({ type: 'turn_ended', turnId: 't1', reason: 'done' })
    expect(typing()).toBeNull()
  })
})

describe('tool calls', () => {
  it('are single lines that open', async () => {
    const { user } = await renderSession({
      events: [
        turnStarted,
        called('c1', { input: { command: 'make' }, ...r1 }),
        ended('c1', { output: 'made it' }),
      ],
    })
    expect(screen.queryByText('made it')).toBeNull()
    await user.click(screen.getByRole('button', { name: /Run make/ }))
    screen.getByText('made it')
  })

  it.each<[string, NewEvent, () => void]>([
    [
      'an edit as its changes',
      called('c1', {
        toolName: 'Edit',
        input: { file_path: '/a.ts', old_string: 'one', new_string: 'two' },
        ...r1,
      }),
      () => expect(document.querySelectorAll('.ab-diff-row')).toHaveLength(2),
    ],
    [
      'a file that was read',
      called('c1', { toolName: 'Read', input: { file_path: '/a.ts' }, ...r1 }),
      () => screen.getByText('done'),
    ],
    [
      'anything else as JSON',
      called('c1', { toolName: 'deploy', input: { to: { region: 'north' } }, ...r1 }),
      () => expect(document.querySelector('.ab-json-value')?.textContent).toBe('north'),
    ],
  ])('open to their content: %s', async (_name, call, expectShown) => {
    const { user } = await renderSession({ events: [turnStarted, call, ended('c1')] })
    await user.click(document.querySelector('.ab-tool-line')!)
    await vi.dynamicImportSettled()
    await advanceTime(0)
    expectShown()
  })

  it('leave their group while one of them waits', async () => {
    const calls = ['a', 'b', 'c'].map((id) => called(id, r1))
    const { play } = await renderSession({ events: [turnStarted, ...calls] })
    screen.getByRole('button', { name: /3 tool calls/ })
    await play(...asked('i1', { toolCallId: 'b', ...r1 }))
    expect(screen.queryByRole('button', { name: /tool calls/ })).toBeNull()
    screen.getByText('Waiting for input')
    await play(...settled('i1', { toolCallId: 'b', settlement: 'approved', ...r1 }), ended('b'))
    expect(screen.queryByText('Waiting for input')).toBeNull()
    expect(document.querySelectorAll('.ab-card[data-phase=settled]')).toHaveLength(1)
  })

  it('of which some failed say so in their group', async () => {
    const calls = ['a', 'b', 'c'].flatMap((id) => [called(id, r1), ended(id, { isError: id === 'b' })])
    await renderSession({ events: [turnStarted, ...calls] })
    expect(screen.getByRole('button', { name: /3 tool calls/ }).textContent).toContain('1 failed')
  })

  it.each([
    ['denied', 'Denied'],
    ['adjusted', 'Changes requested'],
    ['cancelled', 'Cancelled'],
    ['timed_out', 'Timed out'],
    ['interrupted', 'Interrupted'],
  ] as const)('that was %s is not shown as failed', async (settledBy, word) => {
    const denial = { isError: true, settledBy, output: 'reason for the agent' }
    const { user } = await renderSession({ events: [turnStarted, called('a', r1), ended('a', denial)] })
    screen.getByText(word)
    await user.click(screen.getByRole('button', { name: /Run ls/ }))
    screen.getByText('reason for the agent')
    expect(screen.queryByText('Error')).toBeNull()
    expect(document.querySelector('[data-tone=bad]')).toBeNull()
  })

  it('that were interrupted do not look done in their group', async () => {
    const cut = { isError: true, settledBy: 'interrupted' } as const
    const calls = ['a', 'b', 'c'].flatMap((id) => [called(id, r1), ended(id, id === 'c' ? cut : {})])
    await renderSession({ events: [turnStarted, ...calls] })
    expect(screen.getByRole('button', { name: /3 tool calls/ }).textContent).toContain('Interrupted')
  })

  it('that follow each other fold into one line, which opens', async () => {
    const calls = ['a', 'b', 'c'].flatMap((id) => [called(id, r1), ended(id)])
    const { user } = await renderSession({ events: [turnStarted, ...calls] })
    expect(screen.queryByRole('button', { name: /Run ls/ })).toBeNull()
    await user.click(screen.getByRole('button', { name: /3 tool calls/ }))
    expect(screen.getAllByRole('button', { name: /Run ls/ })).toHaveLength(3)
  })

  it('that wait say so and are not folded', async () => {
    const calls = ['a', 'b', 'c'].map((id) => called(id, r1))
    await renderSession({ events: [turnStarted, ...calls, ...asked('i1', { toolCallId: 'b', ...r1 })] })
    screen.getByText('Waiting for input')
    screen.getByRole('button', { name: 'Approve once' })
    expect(screen.queryByRole('button', { name: /tool calls/ })).toBeNull()
  })

  it('without a response have their own container, and say where they came from', async () => {
    await renderSession({ events: [called('c1', { source: 'http' }), called('c2', { source: 'cli' })] })
    screen.getByText('via HTTP')
    screen.getByText('via CLI')
  })

  it('that a rule allowed show no request', async () => {
    await renderSession({
      events: [
        turnStarted,
        called('c1', r1),
        ...asked('i1', { toolCallId: 'c1', requestedAt: 1_800_000_003_000, ...r1 }),
        ...settled('i1', { toolCallId: 'c1', settlement: 'approved', via: 'policy', ...r1 }),
      ],
    })
    expect(screen.queryByRole('button', { name: 'Approve once' })).toBeNull()
    expect(document.body.textContent).toContain('by a rule')
  })
})

it('a reprompt replaces the previous card', async () => {
  const { play } = await renderSession({ events: askedQuestion('i1') })
  await play(
    ...settled('i1', { kind: 'question', settlement: 'superseded', supersededBy: 'i2' }),
    ...askedQuestion('i2', { toolCallId: 'call-i1', errors: {} }),
  )
  expect(document.querySelectorAll('.ab-card')).toHaveLength(1)
  expect(document.querySelector('[data-interaction=i2]')).not.toBeNull()
})

it('a request is announced to screen readers', async () => {
  const { play, container } = await renderSession({ events: [turnStarted] })
  await play(...askedQuestion('i1', r1))
  expect(container.querySelector('[aria-live]')?.textContent).toBe('The agent asks a question.')
})

it('a long session draws only its end and requests that wait', async () => {
  const texts = Array.from({ length: 500 }, (_, index) => wrote(`b${index}`, r1))
  await renderSession({ events: [turnStarted, ...askedQuestion('i1', r1), ...texts] })
  expect(document.querySelectorAll('.ab-row').length).toBeLessThan(100)
  screen.getByText('text of b499')
  expect(screen.queryByText('text of b1')).toBeNull()
  screen.getByText('Which database?')
})

it('an unreachable gateway is shown as a banner', async () => {
  const { transport } = await renderSession({ events: [turnStarted] })
  transport.online(false)
  await advanceTime(0)
  screen.getByText(/cannot be reached/)
  expect(typing()).toBeNull()
})

it('a session that does not exist is explained', async () => {
  await renderSession({ prepareTransport: (transport) => void transport.remove('s1') })
  screen.getByText(/There is no session/)
})

it('a custom kind is drawn by the component that the provider has for it', async () => {
  const renderers = { poll: ({ interaction }: InteractionProps) => <p>Poll {interaction.interactionId}</p> }
  await renderSession({ renderers, events: asked('i1', { kind: 'poll', presentation: 'questionnaire' }) })
  screen.getByText('Poll i1')
})

it('a custom kind without a component is shown as JSON, also if it has the name of a method', async () => {
  await renderSession({ events: asked('i1', { kind: 'constructor', presentation: 'questionnaire' }) })
  screen.getByText(/can’t show/)
})

it.each([
  [null, true],
  ['demo', false],
])(
  'in a session with the agent %s, the text for an empty session stays above a message: %s',
  async (agent, stays) => {
    const note: NewEvent = { type: 'user_message', text: 'remember', by: { id: 'ada' } }
    const { transport } = await renderSession({
      ui: <Conversation sessionId="s2" empty="How to ask here" />,
      prepareTransport: (given) => void given.play('s2', started({ agent })),
    })
    screen.getByText('How to ask here')
    transport.play('s2', note)
    await advanceTime(0)
    screen.getByText('remember')
    expect(screen.queryByText('How to ask here') !== null).toBe(stays)
    transport.play('s2', ...asked('i1'))
    await advanceTime(0)
    expect(screen.queryByText('How to ask here')).toBeNull()
  },
)
