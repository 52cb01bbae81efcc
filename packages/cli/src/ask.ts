import type { OpenBody } from '@askback/protocol'
import { parseArgs } from 'node:util'
import { ASKING, runAsking } from './asking/command.js'
import { usageError } from './usage.js'

/** `askback ask "Which database?" --option Postgres --option SQLite`: prints the answer. */
export async function ask(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...ASKING,
      option: { type: 'string', multiple: true, default: [] },
      multi: { type: 'boolean', default: false },
      header: { type: 'string' },
      default: { type: 'string', multiple: true, default: [] },
    },
  })
  const [question, ...more] = positionals
  if (question === undefined || more.length > 0) {
    throw usageError('Usage: askback ask "QUESTION" with one --option for each choice.')
  }
  const { option: options, multi, header, default: defaults } = values
  const twice = options.find((label, index) => options.indexOf(label) !== index)
  if (twice !== undefined) throw usageError(`--option ${JSON.stringify(twice)} is there twice.`)
  const body: OpenBody = {
    kind: 'question',
    toolName: 'askback_ask',
    request: {
      questions: [
        {
          header: header ?? 'Question',
          question,
          options: options.map((label) => ({ label })),
          multiSelect: multi,
        },
      ],
    },
    ...(defaults.length > 0 && { onTimeout: { answer: { answers: [reply(defaults, options)] } } }),
  }
  return runAsking(body, values, question)
}

/** A default that is none of the options is a text of one's own, as a person could give it. */
function reply(given: string[], options: string[]): { selected: string[]; other?: string } {
  const selected = given.filter((text) => options.includes(text))
  const [other, ...more] = given.filter((text) => !options.includes(text))
  if (more.length > 0) throw usageError(`Only one --default may be none of the options: ${more.join(', ')}.`)
  return other === undefined ? { selected } : { selected, other }
}
