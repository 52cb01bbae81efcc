import { createDesk, defineInteraction, memoryStore, type InteractionKind } from '@askback/core'
import { type } from 'arktype'
import { expect, it } from 'vitest'
import * as z from 'zod'
import { nameSchemas } from './schemas.js'
import { withKinds } from './kind-schemas.js'

/** The schemas of the document of a desk with these kinds. */
function schemasWith(...kinds: InteractionKind[]) {
  const desk = createDesk({ store: memoryStore(), kinds })
  const schemas = withKinds(nameSchemas([]).schemas, desk.kinds)
  desk.close()
  return schemas
}

const any = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const
const kind = (name: string, request: InteractionKind['request'] = any) =>
  defineInteraction({ kind: name, presentation: 'tool', request, answer: any })
const ref = (name: string) => `#/components/schemas/${name}`

it('tells interactions and bodies by their kind', () => {
  const schemas = schemasWith(kind('time_slot'))
  expect(schemas['Interaction']).toMatchObject({
    discriminator: {
      propertyName: 'kind',
      mapping: {
        question: ref('QuestionInteraction'),
        approval: ref('ApprovalInteraction'),
        plan_review: ref('PlanReviewInteraction'),
        form: ref('FormInteraction'),
        time_slot: ref('TimeSlotInteraction'),
      },
    },
  })
  expect(schemas['OpenInteractionBody']).toMatchObject({
    discriminator: { mapping: { time_slot: ref('OpenTimeSlot') } },
  })
  expect(schemas['Answer']!['anyOf']).toContainEqual({ $ref: ref('TimeSlotAnswer') })
})

it('lists the settlements that a kind can have', () => {
  const settlements = (name: string) =>
    (
      schemasWith(kind('plain'), {
        ...kind('judged'),
        settle: (_, answer) => ({ settlement: 'denied', answer: answer as string }),
      })[name]!['oneOf'] as { $ref: string }[]
    ).map(({ $ref }) => $ref.split('/').at(-1))
  expect(settlements('QuestionSettlement')).toEqual(['QuestionAnswered', 'UndecidedSettlement'])
  expect(settlements('ApprovalSettlement')).toEqual([
    'ApprovalApproved',
    'ApprovalDenied',
    'UndecidedSettlement',
  ])
  expect(settlements('PlainSettlement')).toEqual(['PlainAnswered', 'UndecidedSettlement'])
  expect(settlements('JudgedSettlement')).toEqual([
    'JudgedAnswered',
    'JudgedApproved',
    'JudgedDenied',
    'UndecidedSettlement',
  ])
})

it('moves what a schema defines for itself to the components', () => {
  const tree = z.object({
    name: z.string(),
    get children() {
      return z.array(tree)
    },
  })
  const schemas = schemasWith(
    kind('forest', z.object({ trees: z.array(tree.meta({ id: 'a/b' })) })),
    kind('single', tree),
  )
  const { $ref } = (schemas['ForestRequest'] as { properties: { trees: { items: { $ref: string } } } })
    .properties.trees.items
  expect($ref).toMatch(/^#\/components\/schemas\/ForestRequest_a_b\d*$/)
  expect(schemas[$ref.split('/').at(-1)!]).toMatchObject({ properties: { name: { type: 'string' } } })
  expect(JSON.stringify(schemas)).not.toContain('$defs')
  expect(schemas['SingleRequest']).toMatchObject({
    properties: { children: { items: { $ref: ref('SingleRequest') } } },
  })
})

it('takes the schemas of other libraries', () => {
  const schemas = schemasWith(kind('port', type({ port: 'number' })))
  expect(schemas['PortRequest']).toMatchObject({ type: 'object', properties: { port: { type: 'number' } } })
})

it('takes any JSON where a schema cannot be described', () => {
  const schemas = schemasWith(kind('plain'), kind('dated', z.object({ at: z.date() })))
  const description = 'Its schema cannot be described as JSON Schema.'
  expect(schemas['PlainRequest']).toEqual({ description })
  expect(schemas['DatedRequest']).toEqual({ description })
})

it('keeps apart kinds whose names would be equal, and those of the protocol', () => {
  const schemas = schemasWith(kind('a_1'), kind('a1'), kind('session'), kind('undecided'))
  const { mapping } = schemas['Interaction']!['discriminator'] as { mapping: Record<string, string> }
  expect(new Set(Object.values(mapping)).size).toBe(8)
  expect(schemas['UndecidedSettlement']).toMatchObject({ description: 'Nobody decided: it has no answer.' })
})
