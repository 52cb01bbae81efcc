import { fakeClock } from '@askback/core/testing'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { TextCard } from '../cards/card.js'
import { keyInput } from './key-input.js'
import type { PersonInput } from './terminal-input.js'

const approval: TextCard = {
  cardId: 'card',
  sessionId: 'session',
  interactionId: 'interaction',
  kind: 'approval',
  from: 'Release',
  title: 'Approve Bash?',
  parts: [{ as: 'code', text: 'rm -rf /' }],
  controls: [
    { id: 'approve', label: 'Approve', role: 'approve' },
    { id: 'deny', label: 'Deny', role: 'deny' },
  ],
  asks: null,
}

function freeText(cardId: string): TextCard {
  return { ...approval, cardId, kind: 'question', title: 'Question', controls: [], asks: 'Send your answer.' }
}

function terminal() {
  const input = new PassThrough()
  const output = new PassThrough()
  const clock = fakeClock()
  const reader = keyInput({ input, output, clock })
  let seen = ''
  output.setEncoding('utf8').on('data', (data: string) => (seen += data))
  let outdated = new AbortController()
  const nextTick = () => new Promise((resolve) => setImmediate(resolve))
  return {
    clock,
    seen: () => stripVTControlCharacters(seen),
    /** Replaces the prompt. */
    show: async (
      card: TextCard | null,
      hasAgent = true,
    ): Promise<{ entered: Promise<PersonInput | null> }> => {
      outdated.abort()
      await nextTick()
      outdated = new AbortController()
      const entered = reader.read({ card, openCards: 1, hasAgent }, outdated.signal)
      await nextTick()
      return { entered }
    },
    press: async (keys: string): Promise<void> => {
      input.write(keys)
      await nextTick()
    },
    /** Leaves the keyboard quiet for long enough. */
    rest: async (): Promise<void> => {
      clock.advance(300)
      await nextTick()
    },
  }
}

it('ignores keys that were pressed right after the card appeared', async () => {
  const { show, press, rest, clock } = terminal()
  const { entered } = await show(approval)
  await press('a')
  clock.advance(299)
  await press('1')
  await press('\r')
  await rest()
  await press('d')
  expect(await entered).toEqual({ control: 'deny' })
})

it('ignores keys while a person keeps typing, and a key that is held', async () => {
  const { show, press, rest, clock } = terminal()
  const { entered } = await show(approval)
  for (const key of 'a1aaaaaa') {
    await press(key)
    clock.advance(100)
  }
  await rest()
  await press('d')
  expect(await entered).toEqual({ control: 'deny' })
})

it('keeps a half-typed text as a draft of its own card', async () => {
  const { show, press, rest } = terminal()
  await show(freeText('name'))
  await rest()
  await press('main')
  const { entered } = await show(freeText('branch'))
  await rest()
  await press('\r')
  await press('old\r')
  expect(await entered).toEqual({ text: 'old' })
  const again = await show(freeText('name'))
  await rest()
  await press('line\r')
  expect(await again.entered).toEqual({ text: 'mainline' })
})

it('does not take a text for the agent as an answer when a question appears', async () => {
  const { show, press, rest, clock } = terminal()
  await show(null)
  await rest()
  await press('please stop ')
  const { entered } = await show(freeText('branch'))
  for (const key of 'everything\r') {
    await press(key)
    clock.advance(200)
  }
  await rest()
  await press('none\r')
  expect(await entered).toEqual({ text: 'none' })
  const agent = await show(null)
  await rest()
  await press('now\r')
  expect(await agent.entered).toEqual({ text: 'please stop now' })
})

it('draws a character of two UTF-16 units completely under the cursor', async () => {
  vi.stubEnv('FORCE_COLOR', '1')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { show, press, rest, seen } = terminal()
  await show(null)
  await rest()
  await press('a🐘b')
  await press('\u001b[D')
  await press('\u001b[D')
  expect(seen()).toContain('🐘')
  expect(seen()).not.toContain('\ufffd')
})

it('has keys for help and for a command while a card is shown', async () => {
  const { show, press, rest, seen } = terminal()
  const first = await show(approval)
  await rest()
  expect(seen()).toContain('? help')
  await press('?')
  expect(await first.entered).toEqual({ text: '/help' })
  const second = await show(approval)
  await press('/')
  expect(await second.entered).toBeNull()
  const third = await show(approval)
  await press('pending\r')
  expect(await third.entered).toEqual({ text: '/pending' })
})

it('says where a text goes', async () => {
  const { show, seen } = terminal()
  await show(null)
  expect(seen()).toContain('A text goes to the agent; /help lists commands.')
  await show(null, false)
  expect(seen()).toContain('A text is only a note; no agent reads it. /help lists commands.')
  await show({ ...approval, cardId: 'other', controls: [] }, false)
  expect(seen()).toContain('t write a note')
})
