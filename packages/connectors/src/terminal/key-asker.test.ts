import type { Card } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Asked } from './asker.js'
import { keyAsker } from './key-asker.js'

const approval: Card = {
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

function freeText(cardId: string): Card {
  return { ...approval, cardId, kind: 'question', title: 'Question', controls: [], asks: 'Send your answer.' }
}

function terminal() {
  const input = new PassThrough()
  const output = new PassThrough()
  const clock = fakeClock()
  const asker = keyAsker({ input, output, clock })
  let seen = ''
  output.setEncoding('utf8').on('data', (data: string) => (seen += data))
  let change = new AbortController()
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return {
    clock,
    seen: () => stripVTControlCharacters(seen),
    /** Something else is asked for from now on. */
    ask: async (card: Card | null, hasAgent = true): Promise<{ asked: Promise<Asked | null> }> => {
      change.abort()
      await turn()
      change = new AbortController()
      const asked = asker.ask({ card, waiting: 1, hasAgent }, change.signal)
      await turn()
      return { asked }
    },
    press: async (keys: string): Promise<void> => {
      input.write(keys)
      await turn()
    },
    /** Long enough for whatever came. */
    rest: async (): Promise<void> => {
      clock.advance(300)
      await turn()
    },
  }
}

it('takes no key that was on its way when the card came', async () => {
  const { ask, press, rest, clock } = terminal()
  const { asked } = await ask(approval)
  await press('a')
  clock.advance(299)
  await press('1')
  await press('\r')
  await rest()
  await press('d')
  expect(await asked).toEqual({ control: 'deny' })
})

it('takes no key of somebody who types on, nor one that is held', async () => {
  const { ask, press, rest, clock } = terminal()
  const { asked } = await ask(approval)
  for (const key of 'a1aaaaaa') {
    await press(key)
    clock.advance(100)
  }
  await rest()
  await press('d')
  expect(await asked).toEqual({ control: 'deny' })
})

it('keeps a half-typed text for what it was typed for', async () => {
  const { ask, press, rest } = terminal()
  await ask(freeText('name'))
  await rest()
  await press('main')
  const { asked } = await ask(freeText('branch'))
  await rest()
  await press('\r')
  await press('old\r')
  expect(await asked).toEqual({ text: 'old' })
  const again = await ask(freeText('name'))
  await rest()
  await press('line\r')
  expect(await again.asked).toEqual({ text: 'mainline' })
})

it('takes nothing for a question that is typed on for the agent when it comes', async () => {
  const { ask, press, rest, clock } = terminal()
  await ask(null)
  await rest()
  await press('please stop ')
  const { asked } = await ask(freeText('branch'))
  for (const key of 'everything\r') {
    await press(key)
    clock.advance(200)
  }
  await rest()
  await press('none\r')
  expect(await asked).toEqual({ text: 'none' })
  const agent = await ask(null)
  await rest()
  await press('now\r')
  expect(await agent.asked).toEqual({ text: 'please stop now' })
})

it('draws a character of two units whole under the cursor', async () => {
  vi.stubEnv('FORCE_COLOR', '1')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { ask, press, rest, seen } = terminal()
  await ask(null)
  await rest()
  await press('a🐘b')
  await press('\u001b[D')
  await press('\u001b[D')
  expect(seen()).toContain('🐘')
  expect(seen()).not.toContain('\ufffd')
})

it('shows help by a key, and begins a command with another, while a card is up', async () => {
  const { ask, press, rest, seen } = terminal()
  const first = await ask(approval)
  await rest()
  expect(seen()).toContain('? help')
  await press('?')
  expect(await first.asked).toEqual({ text: '/help' })
  const second = await ask(approval)
  await press('/')
  expect(await second.asked).toBeNull()
  const third = await ask(approval)
  await press('pending\r')
  expect(await third.asked).toEqual({ text: '/pending' })
})

it('says where a text goes', async () => {
  const { ask, seen } = terminal()
  await ask(null)
  expect(seen()).toContain('A text goes to the agent; /help lists commands.')
  await ask(null, false)
  expect(seen()).toContain('A text is only a note; no agent reads it. /help lists commands.')
  await ask({ ...approval, cardId: 'other', controls: [] }, false)
  expect(seen()).toContain('t write a note')
})
