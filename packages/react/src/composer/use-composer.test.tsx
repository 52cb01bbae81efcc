// @vitest-environment happy-dom
import { asked, askedQuestion, settled, started, type ScriptedTransport } from '@askback/client/testing'
import { AskbackError, type NewEvent } from '@askback/protocol'
import { act, screen } from '@testing-library/react'
import { useState } from 'react'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Conversation } from '../index.js'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'
import { composer, Composer } from './use-composer.test.helper.js'

setUpComponentTests()

it('shows which request a text answers, and sends it there', async () => {
  const { sends } = await composer()
  screen.getByText('Replying to: Which database?')
  const sent = { text: 'SQLite', route: 'interaction', interactionId: 'i1', questionIndex: 0 }
  expect(await sends('SQLite')).toEqual(sent)
})

it('sends to the agent after the person left the request', async () => {
  const { sends, user } = await composer()
  await user.click(screen.getByRole('button', { name: 'Leave' }))
  screen.getByText('To: agent')
  expect(await sends('hello')).toEqual({ text: 'hello', route: 'agent' })
})

describe('a text that was begun', () => {
  const toQuestion = { route: 'interaction', interactionId: 'i1', questionIndex: 0 }
  const isAnswered = settled('i1', { kind: 'question', settlement: 'answered' })

  it('keeps its target when another request is opened, and after a reload', async () => {
    const { sends, play, reload, user } = await composer()
    await user.type(screen.getByRole('textbox'), 'Post')
    await play(...asked('i2'))
    screen.getByText('Replying to: Which database?')
    await reload()
    screen.getByText('Replying to: Which database?')
    expect(await sends('gres')).toEqual({ text: 'Postgres', ...toQuestion })
  })

  it('for the agent goes to the agent when a request is opened, until the person chooses the request', async () => {
    const { sends, play, user } = await composer([])
    await user.type(screen.getByRole('textbox'), 'Also')
    await play(...asked('i2'))
    screen.getByText('To: agent')
    await user.click(screen.getByRole('button', { name: 'Choose Run ls' }))
    screen.getByText('Replying to: Run ls')
    await user.click(screen.getByRole('button', { name: 'Leave' }))
    expect(await sends(' tests')).toEqual({ text: 'Also tests', route: 'agent' })
  })

  it.each([
    ['is settled', [...isAnswered, ...asked('i2')], 'Run ls', { route: 'interaction', interactionId: 'i2' }],
    ['is settled, and nothing else waits', isAnswered, null, { route: 'agent' }],
    [
      'has come to its next question',
      [{ type: 'interaction_progress', interactionId: 'i1', answers: [{ selected: ['Postgres'] }] }],
      'Which cache?',
      { ...toQuestion, questionIndex: 1 },
    ],
  ] satisfies [string, NewEvent[], string | null, object][])(
    'goes elsewhere only after a second press, if its target %s',
    async (_, meanwhile, about, elsewhere) => {
      const questions = ['Which database?', 'Which cache?'].map((question) => ({ question, options: [] }))
      const { sends, play, user } = await composer(askedQuestion('i1', { request: { questions } }))
      await user.type(screen.getByRole('textbox'), 'Postgres')
      await play(...meanwhile)
      screen.getByText(about === null ? 'To: agent' : `Replying to: ${about}`)
      screen.getByText(/no longer waits/)
      expect(await sends()).toBeUndefined()
      screen.getByText(/Press again/)
      expect(await sends()).toBeUndefined()
      await advanceTime(300)
      expect(await sends()).toEqual({ text: 'Postgres', ...elsewhere })
      expect(screen.queryByText(/no longer waits|Press again/)).toBeNull()
    },
  )

  it('needs another press each time its target changes', async () => {
    const { sends, play, user } = await composer()
    await user.type(screen.getByRole('textbox'), 'Postgres')
    await play(...isAnswered, ...asked('i2'))
    await sends()
    await play(...settled('i2', { settlement: 'approved' }), ...asked('i3'))
    expect(await sends()).toBeUndefined()
    await advanceTime(300)
    expect(await sends()).toMatchObject({ interactionId: 'i3' })
  })
})

it('stays with the agent after leaving a request, until another request is opened', async () => {
  const { play, user } = await composer([...asked('i1'), ...asked('i2')])
  await user.click(screen.getByRole('button', { name: 'Leave' }))
  await play(...settled('i1', { settlement: 'approved' }))
  screen.getByText('To: agent')
  await play(...askedQuestion('i3'))
  screen.getByText('To: undecided')
})

describe('with several requests pending', () => {
  const both = [...asked('i1'), ...askedQuestion('i2')]
  const toQuestion = { route: 'interaction', interactionId: 'i2', questionIndex: 0 }
  const message = () => screen.getByRole('textbox', { name: 'Message' })
  const sent = ({ transport }: Awaited<ReturnType<typeof renderSession>>) =>
    transport.calls.flatMap(({ method, args }) => (method === 'send' ? [args[1]] : []))

  async function page(events: NewEvent[] = both) {
    const ui = (
      <>
        <Conversation sessionId="s1" />
        <Composer />
      </>
    )
    const shown = await renderSession({ events, ui })
    const focus = (kind: string) => {
      const card = shown.container.querySelector<HTMLElement>(`.ab-card[data-kind="${kind}"]`)
      act(() => card?.focus())
    }
    const press = async (name: string) => {
      await shown.user.click(screen.getByRole('button', { name }))
      await advanceTime(0)
    }
    return { ...shown, focus, press }
  }

  it('sends nothing until the person chooses one', async () => {
    const shown = await page()
    screen.getByText('To: undecided')
    await shown.user.type(message(), 'Postgres')
    screen.getByText(/Choose what you are replying to/)
    expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Send' }).disabled).toBe(true)
    await shown.press('Choose Which database?')
    screen.getByText('Replying to: Which database?')
    await shown.press('Send')
    expect(sent(shown)).toEqual([{ text: 'Postgres', ...toQuestion }])
  })

  it('replies to the card that has or last had the focus', async () => {
    const shown = await page()
    shown.focus('approval')
    screen.getByText('Replying to: Run ls')
    shown.focus('question')
    await shown.user.type(message(), 'Postgres')
    screen.getByText('Replying to: Which database?')
    await shown.press('Send')
    expect(sent(shown)).toEqual([{ text: 'Postgres', ...toQuestion }])
  })

  it('takes the focused card as the target of a text without one, and keeps existing targets', async () => {
    const shown = await page()
    await shown.user.type(message(), 'Post')
    shown.focus('question')
    screen.getByText('Replying to: Which database?')
    await shown.user.type(message(), 'gres')
    shown.focus('approval')
    screen.getByText('Replying to: Which database?')
    await shown.press('Choose Run ls')
    screen.getByText('Replying to: Run ls')
  })

  it('focusing a card that takes no text chooses no other one', async () => {
    const fields = ['a', 'b'].map((name) => ({ name, type: 'text' }))
    const form = { kind: 'form', request: { message: 'Where?', schema: { fields } } }
    const { focus, press } = await page([...asked('i1'), ...asked('i2', form)])
    screen.getByText('To: undecided')
    await press('Choose Run ls')
    focus('form')
    screen.getByText('To: undecided')
  })

  it('remembers over a reload that no target was chosen', async () => {
    const shown = await page()
    await shown.user.type(message(), 'Postgres')
    await shown.reload()
    screen.getByText('To: undecided')
    await shown.play(...settled('i1', { settlement: 'approved' }))
    screen.getByText('Replying to: Which database?')
  })

  it('writes to the agent if that was chosen, until another request is opened', async () => {
    const shown = await page()
    await shown.press('Leave')
    screen.getByText('To: agent')
    await shown.play(...asked('i3'))
    screen.getByText('To: undecided')
  })
})

it.each([
  ['demo', 'agent'],
  [null, 'log'],
])('in a session with the agent %s, a text goes to the %s', async (agent, recipient) => {
  const change = (transport: ScriptedTransport) => void transport.play('s2', started({ agent }))
  await renderSession({ ui: <Composer sessionId="s2" />, prepareTransport: change })
  screen.getByText(`To: ${recipient}`)
})

it('names the target on one line, however long the request is', async () => {
  await composer(asked('i1', { request: { input: { command: `${'x'.repeat(1_000_000)}\ny` } } }))
  expect(screen.getByText(/^Replying to: Run x+…$/).textContent.length).toBeLessThan(200)
})

it('keeps a refused text and says why, and clears a sent one', async () => {
  const { sends, transport } = await composer()
  transport.failNext('send', new AskbackError('needs_decision', 'A text denies.'))
  await sends('yes')
  screen.getByText('A text denies.')
  const input = screen.getByRole<HTMLInputElement>('textbox')
  expect(input.value).toBe('yes')
  await sends('!')
  expect(input.value).toBe('')
})

it('says that the gateway cannot be reached until it can be again', async () => {
  const { sends, transport } = await composer()
  transport.online(false)
  await sends('yes')
  screen.getByText('The gateway cannot be reached.')
  transport.online(true)
  await advanceTime(0)
  expect(screen.queryByText('The gateway cannot be reached.')).toBeNull()
})

/** Delays `send` until the test calls `arrive`. */
function slowSends() {
  const slow = {
    sent: 0,
    arrive: () => {},
    prepareTransport: (transport: ScriptedTransport) => {
      const send = transport.send.bind(transport)
      transport.send = async (...args) => {
        slow.sent += 1
        await new Promise<void>((resolve) => (slow.arrive = resolve))
        return send(...args)
      }
    },
  }
  return slow
}

it.each([
  ['goes on', ' and more', ' and more'],
  ['is all new', '{Control>}a{/Control}{Delete}next', 'next'],
])('keeps what is typed while a text is being sent: it %s', async (_, typed, left) => {
  const slow = slowSends()
  const { user, reload } = await renderSession({
    events: askedQuestion('i1'),
    ui: <Composer />,
    prepareTransport: slow.prepareTransport,
  })
  const input = () => screen.getByRole<HTMLInputElement>('textbox')
  await user.type(input(), 'first')
  await user.click(screen.getByRole('button', { name: 'Send' }))
  await user.type(input(), typed)
  slow.arrive()
  await advanceTime(0)
  expect(input().value).toBe(left)
  await reload()
  expect(input().value).toBe(left)
})

function PageWithComposer() {
  const [isThere, setThere] = useState(true)
  return (
    <>
      <button onClick={() => setThere(!isThere)}>{isThere ? 'Go' : 'Come back'}</button>
      {isThere && <Composer />}
    </>
  )
}

it('a text that is being sent cannot be sent again after leaving and returning, and disappears when it has arrived', async () => {
  const slow = slowSends()
  const { user } = await renderSession({
    events: askedQuestion('i1'),
    ui: <PageWithComposer />,
    prepareTransport: slow.prepareTransport,
  })
  const click = (name: string) => user.click(screen.getByRole('button', { name }))
  const input = () => screen.getByRole<HTMLInputElement>('textbox')
  await user.type(input(), 'once')
  await click('Send')
  await click('Go')
  await click('Come back')
  expect(input().value).toBe('once')
  await click('Send')
  slow.arrive()
  await advanceTime(0)
  expect(input().value).toBe('')
  expect(slow.sent).toBe(1)
})

it('a refused text and its error are there after leaving and returning', async () => {
  const { user, transport } = await renderSession({ events: askedQuestion('i1'), ui: <PageWithComposer /> })
  transport.failNext('send', new AskbackError('needs_decision', 'A text denies.'))
  const click = (name: string) => user.click(screen.getByRole('button', { name }))
  await user.type(screen.getByRole('textbox'), 'yes')
  await click('Send')
  await advanceTime(0)
  await click('Go')
  await click('Come back')
  expect(screen.getByRole<HTMLInputElement>('textbox').value).toBe('yes')
  screen.getByText('A text denies.')
})

it('a text that another window sent is gone after leaving and returning', async () => {
  const { user } = await renderSession({ events: askedQuestion('i1'), ui: <PageWithComposer /> })
  await user.type(screen.getByRole('textbox'), 'half')
  await user.click(screen.getByRole('button', { name: 'Go' }))
  localStorage.removeItem('askback.composer.s1')
  await user.click(screen.getByRole('button', { name: 'Come back' }))
  expect(screen.getByRole<HTMLInputElement>('textbox').value).toBe('')
})

it.each(['full', 'forbidden'])(
  'a text is there after leaving and returning while storage is %s',
  async (how) => {
    const { user } = await renderSession({ events: askedQuestion('i1'), ui: <PageWithComposer /> })
    const click = (name: string) => user.click(screen.getByRole('button', { name }))
    await user.type(screen.getByRole('textbox'), 'half')
    const { localStorage: real } = window
    const refuse = () => {
      throw new DOMException('No.', 'QuotaExceededError')
    }
    const getItem = how === 'forbidden' ? refuse : (key: string) => real.getItem(key)
    vi.stubGlobal('localStorage', { getItem, setItem: refuse, removeItem: refuse })
    onTestFinished(() => void vi.unstubAllGlobals())
    await user.type(screen.getByRole('textbox'), ' a word')
    await click('Go')
    await click('Come back')
    expect(screen.getByRole<HTMLInputElement>('textbox').value).toBe('half a word')
  },
)

it('keeps a text over a reload', async () => {
  const { user, reload } = await composer()
  await user.type(screen.getByRole('textbox'), 'half')
  await reload()
  expect(screen.getByRole<HTMLInputElement>('textbox').value).toBe('half')
})

it('a text typed in one session does not appear in another', async () => {
  const { user } = await renderSession({
    ui: ['s1', 's2'].map((sessionId) => <Composer key={sessionId} sessionId={sessionId} />),
    prepareTransport: (transport) => transport.play('s2', ...askedQuestion('i2')),
  })
  const [first, second] = screen.getAllByRole<HTMLInputElement>('textbox')
  await user.type(first!, 'for the first')
  expect(second!.value).toBe('')
})
