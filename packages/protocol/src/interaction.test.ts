import { expect, it } from 'vitest'
import { AskbackError } from './errors.js'
import { ask, start, stateOf } from './event-log.fixture.js'
import { interactionInError } from './interaction.js'
import { pendingOf } from './state.js'

const [interaction] = pendingOf(stateOf(start, ...ask('i1')))

it('finds the interaction in the details of an error', () => {
  const error = new AskbackError('already_settled', 'Settled.', { details: { interaction } })
  expect(interactionInError(error)).toEqual(interaction)
})

it.each([
  ['has no details', new AskbackError('not_found', 'None.')],
  ['has other details', new AskbackError('ambiguous', 'Several.', { details: { interactions: [] } })],
  ['has an interaction that is none', new AskbackError('internal', '?', { details: { interaction: {} } })],
  ['is not one of ours', Object.assign(new Error('No.'), { details: { interaction } })],
  ['is no error', null],
])('finds none in what %s', (_, error) => {
  expect(interactionInError(error)).toBeNull()
})
