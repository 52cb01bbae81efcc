import {
  assert,
  boolean,
  constantFrom,
  integer,
  property,
  record,
  stringMatching,
  uniqueArray,
} from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AdoptedItem, Interaction } from '@askback/protocol'
import { MAX_GAP_MS, pastCalls, placeInteractions, type PastCall } from './placement.js'
import { scoreCall } from '../decide/rendezvous.js'

const call = (toolCallId: string, at: number, command = 'true', endedAt = at): PastCall => ({
  toolCallId,
  toolName: 'Bash',
  input: { command },
  at,
  endedAt,
})

function asked(toolCallId: string, requestedAt: number, toolName = 'shop_pay'): Interaction {
  return {
    interactionId: 'i',
    sessionId: 's',
    toolCallId,
    toolName,
    kind: 'question',
    presentation: 'questionnaire',
    request: {},
    digest: '',
    status: 'settled',
    requestedAt,
    onTimeout: 'deny',
  }
}

const placeOf = (calls: PastCall[], interaction: Interaction, isNamed = true) =>
  placeInteractions(calls, [{ interaction, isNamed }]).get('i') ?? null

const MINUTE = 60_000
const pay = 'shop-pay --all'

describe('an interaction is placed', () => {
  it.each<[string, PastCall[], Interaction, object | null]>([
    ['at the call of its id', [call('a', 0)], asked('a', 5), { toolCallId: 'a', by: 'id' }],
    [
      'at the call of its id, before one that names it and is nearer',
      [call('named', 100, pay), call('a', 9 * MINUTE)],
      asked('a', 100),
      { toolCallId: 'a', by: 'id' },
    ],
    [
      'at the call that names it, before one that is nearer',
      [call('near', 100), call('named', 9 * MINUTE, pay)],
      asked('x', 100),
      { toolCallId: 'named', by: 'command' },
    ],
    [
      'at the nearest of the calls that name it',
      [call('early', 0, pay), call('near', 900, pay), call('late', 2000, pay)],
      asked('x', 1000),
      { toolCallId: 'near', by: 'command' },
    ],
    [
      'at the call that ran at that time, before one that began nearer',
      [call('ran', 0, pay, 5000), call('ended', 900, pay, 950)],
      asked('x', 1000),
      { toolCallId: 'ran', by: 'command' },
    ],
    [
      'of two that ran at that time at the one that had begun last',
      [call('first', 0, pay, 5000), call('last', 900, pay, 5000)],
      asked('x', 1000),
      { toolCallId: 'last', by: 'command' },
    ],
    [
      'at the nearest call, if none names it',
      [call('a', 0), call('b', 900), call('c', 2000)],
      asked('x', 1000),
      { toolCallId: 'b', by: 'time' },
    ],
    [
      'at the older of two that are as near',
      [call('a', 900), call('b', 1100)],
      asked('x', 1000),
      { toolCallId: 'a', by: 'time' },
    ],
    ['nowhere in a history without calls', [], asked('x', 1000), null],
    [
      'at no call that has only a part of its name in a word: by time, then',
      [call('a', 0, 'shopping payments'), call('b', 1000)],
      asked('x', 1000),
      { toolCallId: 'b', by: 'time' },
    ],
  ])('%s', (_, calls, interaction, expected) => {
    expect(placeOf(calls, interaction)).toEqual(expected)
  })

  it.each<[string, PastCall, string, object | null]>([
    ['the same id at any time', call('a', 0), 'a', { toolCallId: 'a', by: 'id' }],
    [
      'the same name within a minute',
      call('a', MAX_GAP_MS * 9, pay),
      'x',
      { toolCallId: 'a', by: 'command' },
    ],
    ['not the same name beyond it', call('a', MAX_GAP_MS * 9 - 1, pay), 'x', null],
    ['not the time alone', call('a', MAX_GAP_MS * 10), 'x', null],
  ])('without a named source, an interaction is placed only at a call with %s', (_, one, id, expected) => {
    expect(placeOf([one], asked(id, MAX_GAP_MS * 10), false)).toEqual(expected)
  })
})

it('no other call is nearer, in any history', () => {
  const arbitraryCall = record({
    toolCallId: stringMatching(/^[a-f]$/),
    at: integer({ min: 0, max: 300_000 }),
    takes: integer({ min: 0, max: 100_000 }),
    command: constantFrom('true', pay, 'shop list', 'shop_pay', 'cat pay.txt'),
  })
  const arbitraryAsked = record({
    id: stringMatching(/^[a-j]$/),
    requestedAt: integer({ min: 0, max: 400_000 }),
    toolName: constantFrom('shop_pay', 'shop.list', 'other'),
    isNamed: boolean(),
  })
  assert(
    property(
      uniqueArray(arbitraryCall, { selector: ({ toolCallId }) => toolCallId }),
      arbitraryAsked,
      (some, { id, requestedAt, toolName, isNamed }) => {
        const calls = some.map(({ toolCallId, at, takes, command }) =>
          call(toolCallId, at, command, at + takes),
        )
        const found = placeOf(calls, asked(id, requestedAt, toolName), isNamed)
        const distance = ({ at, endedAt }: PastCall) =>
          requestedAt < at ? at - requestedAt : Math.max(0, requestedAt - endedAt)
        const alike = calls.filter((one) => scoreCall(toolName, one) >= 3)
        const least = (all: PastCall[]) => Math.min(...all.map(distance))
        const chosen = calls.find((one) => one.toolCallId === found?.toolCallId)
        if (calls.some((one) => one.toolCallId === id)) {
          expect(found).toEqual({ toolCallId: id, by: 'id' })
        } else if (alike.length > 0 && (isNamed || least(alike) <= MAX_GAP_MS)) {
          expect(found?.by).toBe('command')
          expect(alike).toContain(chosen)
          expect(distance(chosen!)).toBe(least(alike))
        } else if (isNamed && calls.length > 0) {
          expect(found?.by).toBe('time')
          expect(distance(chosen!)).toBe(least(calls))
        } else expect(found).toBeNull()
      },
    ),
  )
})

it('a call lasts until its result, or to the end of the history', () => {
  const items: AdoptedItem[] = [
    { type: 'tool_call', at: 1, toolCallId: 'a', toolName: 'Bash', input: {} },
    { type: 'tool_call', at: 2, toolCallId: 'b', toolName: 'Bash', input: {} },
    { type: 'tool_call', at: 3, toolCallId: 'a', toolName: 'Again', input: {} },
    { type: 'tool_result', at: 4, toolCallId: 'a', output: '', isError: false },
    { type: 'tool_result', at: 5, toolCallId: 'nobody', output: '', isError: false },
    { type: 'text', at: 9, text: 'end' },
  ]
  expect(pastCalls(items)).toMatchObject([
    { toolCallId: 'a', toolName: 'Bash', at: 1, endedAt: 4 },
    { toolCallId: 'b', at: 2, endedAt: 9 },
  ])
})
