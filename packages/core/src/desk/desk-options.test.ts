import { expect, it } from 'vitest'
import { createDesk, memoryStore } from '../index.js'

it.each<[string, string, unknown]>([
  ['no options', 'options', undefined],
  ['no store', 'store', { store: undefined }],
  ['a store that is none', 'store', { store: {} }],
  ['kinds that are no list', 'kinds', { kinds: 'color' }],
  ['a kind that is none', 'kind', { kinds: [{}] }],
  ['a clock that only tells the time', 'clock', { clock: { now: () => 0 } }],
  ['ids that are none', 'newId', { newId: 'id' }],
  ['a default deadline in the past', 'timeouts.defaultMs', { timeouts: { defaultMs: -1 } }],
  ['a default deadline as a text', 'timeouts.defaultMs', { timeouts: { defaultMs: '10m' } }],
  ['a limit below zero', 'sessions', { limits: { sessions: -1 } }],
  ['a limit that there is not', 'sessionsInMemory', { limits: { sessionsInMemory: 10 } }],
  ['a limit that is no number', 'requestBytes', { limits: { requestBytes: Number.NaN } }],
  ['a retention of no time', 'retentionMs', { retentionMs: 0 }],
])('a desk with %s is refused, and the error names the option', (_, where, wrong) => {
  const options = wrong && { store: memoryStore(), ...wrong }
  const make = () => createDesk(options as never)
  expect(make).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  expect(make).toThrow(where)
})
