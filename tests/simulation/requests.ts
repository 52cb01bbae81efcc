import { defineInteraction, type InteractionKind } from '@askback/core'
import type { Json } from '@askback/protocol'
import type { Random } from './random.js'
import type { AnswerEffect } from './sent.js'

export interface RandomAnswer {
  answer: Json
  fit: AnswerEffect
}

/** A kind that the core does not know, with a schema of its own. */
export const colour = defineInteraction({
  kind: 'colour',
  presentation: 'questionnaire',
  request: shape<{ what: string }>('what'),
  answer: shape<{ colour: string }>('colour'),
})

export const kinds = ['question', 'approval', 'plan_review', 'form', 'colour', 'approval'] as const
export type KindName = (typeof kinds)[number]

export function randomRequest(kind: KindName, random: Random): { toolName: string; request: Json } {
  switch (kind) {
    case 'question': {
      const questions = Array.from({ length: random.between(1, 2) }, (_, index) => ({
        header: `Q${index}`,
        question: random.pick(['Which?', 'How many?']),
        options: [{ label: 'A' }, { label: 'B' }],
        multiSelect: false,
      }))
      return { toolName: 'ask', request: { questions } }
    }
    case 'approval': {
      const edits = random.chance(0.3)
      const input = edits
        ? { file_path: random.pick(['/w/a', '/etc/a']) }
        : { command: random.pick(['ls', 'rm x']) }
      return { toolName: edits ? 'Write' : 'Bash', request: { input } }
    }
    case 'plan_review':
      return { toolName: 'plan', request: { plan: random.pick(['Build it.', 'Test it.']) } }
    case 'form': {
      const number = { name: 'n', type: 'number', min: 1, required: true }
      const text = { name: 't', type: 'text', minLength: 2, required: true }
      return {
        toolName: 'form',
        request: { message: 'Fill in', schema: { fields: [random.pick([number, text])] } },
      }
    }
    case 'colour':
      return { toolName: 'paint_wall', request: { what: random.pick(['wall', 'door']) } }
  }
}

/** `lasting`: whether the session can store a rule with the scope `always`. */
export function randomAnswer(
  kind: string,
  request: Json,
  options: { random: Random; lasting: boolean; valid?: boolean },
): RandomAnswer {
  const { random } = options
  const invalid = options.valid !== true && random.chance(0.12)
  if (invalid) return { answer: random.pick<Json>([{ no: 1 }, 'yes', { answers: [] }]), fit: 'invalid' }
  switch (kind) {
    case 'question': {
      const { questions } = request as { questions: Json[] }
      const reply = () =>
        random.pick<Json>([{ selected: ['A'] }, { selected: ['B'] }, { selected: [], other: 'C' }])
      return { answer: { answers: questions.map(reply) }, fit: 'answered' }
    }
    case 'approval':
      return approval(options)
    case 'plan_review': {
      const decision = random.pick(['clean_edit', 'edit', 'default', 'adjust'])
      if (decision !== 'adjust') return { answer: { decision }, fit: 'approved' }
      return { answer: { decision, feedback: 'Smaller.' }, fit: 'denied' }
    }
    case 'form':
      return form(request, options)
    default:
      return { answer: { colour: random.pick(['red', 'blue']) }, fit: 'answered' }
  }
}

function approval({
  random,
  lasting,
  valid,
}: {
  random: Random
  lasting: boolean
  valid?: boolean
}): RandomAnswer {
  if (random.chance(0.3)) return { answer: { decision: 'deny', message: 'No.' }, fit: 'denied' }
  if (random.chance(0.2))
    return { answer: { decision: 'approve', updatedInput: { command: 'true' } }, fit: 'approved' }
  const scope = random.pick(['once', 'session', 'session', 'always'])
  if (scope === 'always' && !lasting)
    return valid
      ? { answer: { decision: 'approve' }, fit: 'approved' }
      : { answer: { decision: 'approve', scope }, fit: 'invalid' }
  return { answer: { decision: 'approve', scope }, fit: 'approved' }
}

function form(request: Json, { random, valid }: { random: Random; valid?: boolean }): RandomAnswer {
  const { schema } = request as { schema: { fields: [{ name: string }] } }
  const { name } = schema.fields[0]
  const short = valid !== true && random.chance(0.4)
  const value = name === 'n' ? (short ? 0 : random.between(1, 3)) : short ? 'x' : 'long'
  return { answer: { values: { [name]: value } }, fit: short ? 'reprompt' : 'answered' }
}

function shape<T>(name: string): InteractionKind<T, T>['request'] {
  return {
    '~standard': {
      version: 1,
      vendor: 'simulation',
      validate: (value) =>
        typeof value === 'object' && value !== null && Object.keys(value).join() === name
          ? { value: value as T }
          : { issues: [{ message: `must have ${name}` }] },
    },
  }
}
