/**
 * The schemas that depend on the kinds of a desk. On the wire an interaction has a `kind`, and a request and an answer of that kind, so a
 * client can tell by `kind` what it has. The schemas of the routes know neither, because kinds are defined at run time. Here each of
 * them is replaced by a union of one schema for each kind, with `kind` as the discriminator; below that, `status` and `settlement` tell
 * which fields there are.
 */
import { describeKind, type InteractionKind } from '@askback/core'
import { settlementKind, type ByKind, type SettlementKind } from '@askback/protocol'
import { embedded } from './embedded-schema.js'
import { pascalCase, ref, union, type SchemaNode, type ObjectSchema, type UnionCase } from './schemas.js'

type Components = Record<string, SchemaNode>
type Properties = Record<string, SchemaNode>

const HAS_ANSWER: Record<SettlementKind, boolean> = {
  answered: true,
  approved: true,
  denied: true,
  cancelled: false,
  timed_out: false,
  superseded: false,
}
const DECIDED = settlementKind.options.filter((settlement) => HAS_ANSWER[settlement])
const UNDECIDED = settlementKind.options.filter((settlement) => !HAS_ANSWER[settlement])
/** How answers of the built-in kinds settle. Their requests and answers are schemas of the protocol. */
const BUILT_IN: ByKind<SettlementKind[]> = {
  question: ['answered'],
  approval: ['approved', 'denied'],
  plan_review: ['approved', 'denied'],
  form: ['answered'],
}
/** Fields that interactions have only after they are settled, and events of responses as well. */
const OF_SETTLEMENT = ['settlement', 'answer', 'message', 'by', 'via', 'updatedDigest', 'supersededBy']
const OF_SETTLED = ['settledAt', 'delivered']

/** Returns the components, with those that depend on kinds replaced. */
export function withKinds(components: Components, kinds: readonly InteractionKind[]): Components {
  const interaction = objectIn(components, 'Interaction')
  const requestEvent = objectIn(components, 'InteractionRequestEvent')
  const responseEvent = objectIn(components, 'InteractionResponseEvent')
  const openBody = objectIn(components, 'OpenInteractionBody')
  const respondBody = objectIn(components, 'RespondBody')
  const ofSettlement = pick(interaction, OF_SETTLEMENT)
  const { answer: _, ...withoutAnswer } = ofSettlement
  const result: Components = {
    ...components,
    InteractionBase: without(interaction, ['kind', 'request', 'status', ...OF_SETTLEMENT, ...OF_SETTLED]),
    OpenInteractionBase: without(openBody, ['kind', 'request', 'onTimeout']),
    PendingStatus: object({ status: { const: 'pending' } }),
    SettledStatus: object({ status: { const: 'settled' }, ...pick(interaction, OF_SETTLED) }, ['status']),
    UndecidedSettlement: {
      ...object({ ...withoutAnswer, settlement: { type: 'string', enum: UNDECIDED } }, ['settlement']),
      description: 'Nobody decided: it has no answer.',
    },
  }
  const titles = new Map<string, string>()
  for (const kind of kinds) {
    const title = titleOf(kind.kind, result)
    titles.set(kind.kind, title)
    Object.assign(result, schemasOf(kind, title, ofSettlement))
  }
  const byKind = (nameOf: (title: string) => string): UnionCase[] =>
    [...titles].map(([kind, title]) => [kind, nameOf(title)])
  const interactions = union(
    'kind',
    byKind((title) => `${title}Interaction`),
  )
  const bodies = union(
    'kind',
    byKind((title) => `Open${title}`),
  )
  const { description } = interaction
  return {
    ...result,
    Interaction: { ...interactions, description },
    OpenInteractionBody: { ...bodies, description: openBody['description'] },
    // Without a discriminator: in `allOf`, one would make them base classes of what they are a part of.
    AnyAsked: { oneOf: [...titles.values()].map((title) => ref(`${title}Asked`)) },
    AnySettled: { oneOf: [...titles.values()].map((title) => ref(`${title}Settled`)) },
    InteractionRequestEvent: { allOf: [without(requestEvent, ['kind', 'request']), ref('AnyAsked')] },
    InteractionResponseEvent: {
      allOf: [without(responseEvent, ['kind', ...OF_SETTLEMENT]), ref('AnySettled')],
    },
    Answer: {
      description: 'An answer of the kind of its interaction.',
      anyOf: [...titles.values()].map((title) => ref(`${title}Answer`)),
    },
    RespondBody: { ...respondBody, properties: { ...respondBody.properties, answer: ref('Answer') } },
  }
}

/** The schemas of one kind: what is asked, how it settles, its interaction, and the body that opens one. */
function schemasOf(definition: InteractionKind, title: string, ofSettlement: Properties): Components {
  const { kind, request, answer } = describeKind(definition)
  const result: Components = {}
  if (!BUILT_IN[kind])
    Object.assign(result, embedded(`${title}Request`, request), embedded(`${title}Answer`, answer))
  const settlements = BUILT_IN[kind] ?? (definition.settle ? DECIDED : ['answered' as const])
  for (const settlement of settlements) {
    const fields = { ...ofSettlement, settlement: { const: settlement }, answer: ref(`${title}Answer`) }
    result[`${title}${pascalCase(settlement)}`] = object(fields, ['settlement', 'answer'])
  }
  const cases = [
    ...settlements.map((settlement) => `${title}${pascalCase(settlement)}`),
    'UndecidedSettlement',
  ]
  const onTimeout = {
    oneOf: [{ type: 'string', enum: ['deny', 'keep'] }, object({ answer: ref(`${title}Answer`) })],
    description: 'What happens at the deadline: a denial, nothing, or this answer.',
  }
  return {
    ...result,
    [`${title}Asked`]: object({ kind: { const: kind }, request: ref(`${title}Request`) }),
    [`${title}Settlement`]: { oneOf: cases.map(ref) },
    [`${title}Settled`]: { allOf: [object({ kind: { const: kind } }), ref(`${title}Settlement`)] },
    [`${title}Interaction`]: {
      allOf: [
        ref('InteractionBase'),
        ref(`${title}Asked`),
        { oneOf: [ref('PendingStatus'), { allOf: [ref('SettledStatus'), ref(`${title}Settlement`)] }] },
      ],
    },
    [`Open${title}`]: {
      allOf: [ref('OpenInteractionBase'), ref(`${title}Asked`), object({ onTimeout }, [])],
    },
  }
}

/** What `schemasOf` appends to the name of a kind. */
const SUFFIXES = 'Request Answer Asked Settled Settlement Interaction Answered Approved Denied'.split(' ')

/** The name of a kind in those of its schemas. One that would replace another schema gets a suffix. */
function titleOf(kind: string, taken: Components): string {
  let title = pascalCase(kind)
  if (BUILT_IN[kind]) return title
  while (`Open${title}` in taken || SUFFIXES.some((suffix) => `${title}${suffix}` in taken)) title += 'Kind'
  return title
}

function objectIn(components: Components, name: string): ObjectSchema {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- zod describes an object with properties like this
  return components[name] as ObjectSchema
}

function object(properties: Properties, required = Object.keys(properties)): ObjectSchema {
  return { type: 'object', properties, required }
}

function without(schema: ObjectSchema, names: readonly string[]): ObjectSchema {
  const { properties, required, description: _, ...rest } = schema
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name))),
    required: required.filter((name) => !names.includes(name)),
  }
}

function pick({ properties }: ObjectSchema, names: readonly string[]): Properties {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => names.includes(name)))
}
