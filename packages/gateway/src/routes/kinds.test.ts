import { defineInteraction } from '@askback/core'
import type { Interaction } from '@askback/protocol'
import { afterEach, expect, it } from 'vitest'
import * as z from 'zod'
import { Api, startTestGateway, type TestGateway } from '../testing/index.js'

const timeSlot = defineInteraction({
  kind: 'time_slot',
  presentation: 'questionnaire',
  title: 'A slot',
  request: z.object({ slots: z.array(z.string()) }),
  answer: z.object({
    slot: z.string().refine((slot) => {
      if (slot === 'bad') throw new Error('the calendar is broken')
      return true
    }),
  }),
  card: ({ slots }) => ({ fields: { slot: { options: slots } } }),
})

let gateway: TestGateway
afterEach(() => gateway.close())

async function start(kinds = [timeSlot]) {
  gateway = await startTestGateway({ kinds, listen: false })
  const api = new Api(gateway)
  const sessionId = await api.session({ agent: null })
  const path = `/api/sessions/${sessionId}/interactions`
  const opened = await api.post<{ interaction: Interaction }>(path, {
    kind: 'time_slot',
    request: { slots: ['Mon', 'Tue'] },
  })
  return { api, path: `${path}/${opened.body.interaction.interactionId}` }
}

it('lists custom kinds with their JSON Schemas', async () => {
  const { api } = await start()
  expect(await api.get('/api/kinds')).toMatchObject({
    status: 200,
    body: {
      kinds: [
        {
          kind: 'time_slot',
          title: 'A slot',
          presentation: 'questionnaire',
          request: { type: 'object', properties: { slots: { type: 'array' } } },
          answer: { type: 'object', properties: { slot: { type: 'string' } }, required: ['slot'] },
        },
      ],
    },
  })
})

it('returns the form for a request, with what its card says', async () => {
  const { api, path } = await start()
  const options = [{ value: 'Mon' }, { value: 'Tue' }]
  expect(await api.get(`${path}/prompt`)).toMatchObject({
    status: 200,
    body: { prompt: { title: 'A slot', fields: [{ name: 'slot', type: 'radio', options, required: true }] } },
  })
  expect(await api.get(`${path}x/prompt`)).toMatchObject({ status: 404 })
})

it('an answer for which the schema throws is refused in a sentence, and the request stays pending', async () => {
  const { api, path } = await start()
  expect(await api.post(`${path}/response`, { answer: { slot: 'bad' } })).toMatchObject({
    status: 400,
    body: {
      error: {
        code: 'invalid_request',
        message: expect.stringContaining('one of its rules throws') as string,
      },
    },
  })
  expect(await api.get(path)).toMatchObject({ body: { interaction: { status: 'pending' } } })
  expect(await api.post(`${path}/response`, { answer: { slot: 'Mon' } })).toMatchObject({ status: 200 })
})

it('the error of a kind that has its own copy of the library counts like one of ours', async () => {
  class ForeignError extends Error {
    override name = 'AskbackError'
    code = 'invalid_answer'
    details = { field: 'slot' }
    toJSON = () => ({ error: { code: this.code, message: this.message, details: this.details } })
  }
  const { api, path } = await start([
    {
      ...timeSlot,
      settle() {
        throw new ForeignError('There is no such slot.')
      },
    },
  ])
  expect(await api.post(`${path}/response`, { answer: { slot: 'Fri' } })).toMatchObject({
    status: 400,
    body: {
      error: { code: 'invalid_answer', message: 'There is no such slot.', details: { field: 'slot' } },
    },
  })
})
