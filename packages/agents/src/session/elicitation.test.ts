import { expect, it } from 'vitest'
import { formRequest } from './elicitation.js'

it('turns a schema of the Model Context Protocol into a form', () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', title: 'Name', minLength: 2, description: 'In full' },
      day: { type: 'string', format: 'date' },
      at: { type: 'string', format: 'date-time' },
      nights: { type: 'integer', minimum: 1, maximum: 14, default: 2 },
      price: { type: 'number' },
      breakfast: { type: 'boolean' },
      room: { type: 'string', enum: ['s', 'd'], enumNames: ['Single', 'Double'] },
      bed: { type: 'string', oneOf: [{ const: 'k', title: 'King' }, { const: 'q' }] },
      extras: { type: 'array', items: { anyOf: [{ const: 'v', title: 'View' }] } },
    },
    required: ['name'],
  }
  expect(formRequest('Please', schema)).toEqual({
    message: 'Please',
    initialValues: { nights: 2 },
    schema: {
      fields: [
        { name: 'name', label: 'Name', description: 'In full', type: 'text', minLength: 2, required: true },
        { name: 'day', type: 'date', required: false },
        { name: 'at', type: 'datetime', required: false },
        { name: 'nights', type: 'number', step: 1, min: 1, max: 14, required: false },
        { name: 'price', type: 'number', required: false },
        { name: 'breakfast', type: 'boolean', required: false },
        {
          name: 'room',
          type: 'select',
          options: [
            { value: 's', label: 'Single' },
            { value: 'd', label: 'Double' },
          ],
          required: false,
        },
        {
          name: 'bed',
          type: 'select',
          options: [{ value: 'k', label: 'King' }, { value: 'q' }],
          required: false,
        },
        { name: 'extras', type: 'multiselect', options: [{ value: 'v', label: 'View' }], required: false },
      ],
    },
  })
})

it('leaves out a default that is none of the options', () => {
  const room = { type: 'string', enum: ['s', 'd'] }
  const extras = { type: 'array', items: { enum: ['v', 'w'] } }
  const withDefaults = (...defaults: unknown[]) => {
    const properties = {
      room: { ...room, default: defaults[0] },
      extras: { ...extras, default: defaults[1] },
    }
    return formRequest('Please', { type: 'object', properties }).initialValues
  }
  expect(withDefaults('d', ['v', 'w'])).toEqual({ room: 'd', extras: ['v', 'w'] })
  expect(withDefaults('x', ['v'])).toEqual({ extras: ['v'] })
  expect(withDefaults('x', ['v', 'x'])).toBeUndefined()
})
