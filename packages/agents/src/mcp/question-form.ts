import {
  CLIENT_CAPABILITIES_META_KEY,
  type ElicitRequestFormParams,
  type ServerContext,
} from '@modelcontextprotocol/server'
import {
  isRecord,
  listOf,
  objectOf,
  type Interaction,
  type QuestionReply,
  type QuestionRequest,
} from '@askback/protocol'
import { isOfKind } from '@askback/protocol/guards'
import type { RequestPort } from './request-port.js'

// Elicitation: the client shows a form to its user. It is off unless the operator turns it on, and only for questions: the answer comes with
// the agent's credential, so it must never allow anything.

/** The key of the form among the input requests of a call or task. There is never more than one. */
export const FORM_KEY = 'answer'

/** The form for the client's user; `null` if the operator does not want it, or the client or the kind of the request has none. */
export function formFor(
  requests: RequestPort,
  item: Interaction,
  { mcpReq: { envelope } }: ServerContext,
): ElicitRequestFormParams | null {
  if (!requests.answer || item.status !== 'pending' || !isOfKind(item, 'question')) return null
  const { elicitation } = objectOf(objectOf(envelope)[CLIENT_CAPABILITIES_META_KEY])
  const showsForms =
    isRecord(elicitation) && (Object.keys(elicitation).length === 0 || isRecord(elicitation['form']))
  return showsForms ? formOf(item.request) : null
}

/** Settles the request with what the client's user has entered, if that is an answer. Others may have answered before. */
export async function takeFormAnswer(
  requests: RequestPort,
  item: Interaction,
  responses: Readonly<Record<string, unknown>> | undefined,
): Promise<void> {
  const response = objectOf(responses?.[FORM_KEY])
  if (!requests.answer || response['action'] !== 'accept' || !isOfKind(item, 'question')) return
  await requests.answer(item, { answers: repliesIn(item.request, objectOf(response['content'])) })
}

function formOf({ questions }: QuestionRequest): ElicitRequestFormParams {
  const properties: ElicitRequestFormParams['requestedSchema']['properties'] = {}
  for (const [index, { question, header, options, multiSelect }] of questions.entries()) {
    const name = fieldName(index)
    const about = { title: header ?? question, description: question }
    const choices = options.map(({ label, description }) => ({
      const: label,
      title: description === undefined ? label : `${label}: ${description}`,
    }))
    if (choices.length === 0) {
      properties[name] = { type: 'string', ...about }
      continue
    }
    properties[name] = multiSelect
      ? { type: 'array', ...about, items: { anyOf: choices } }
      : { type: 'string', ...about, oneOf: choices }
    properties[otherName(index)] = { type: 'string', title: 'Other', description: 'An answer of your own.' }
  }
  const message = questions.map(({ question }) => question).join('\n')
  return { mode: 'form', message, requestedSchema: { type: 'object', properties } }
}

function repliesIn(
  { questions }: QuestionRequest,
  content: Readonly<Record<string, unknown>>,
): QuestionReply[] {
  return questions.map(({ options }, index) => {
    const given = content[fieldName(index)]
    const other = options.length === 0 ? given : content[otherName(index)]
    const chosen = Array.isArray(given) ? listOf(given) : [given]
    return {
      selected: options.length === 0 ? [] : chosen.filter((label) => typeof label === 'string'),
      ...(typeof other === 'string' && other.trim() !== '' && { other }),
    }
  })
}

function fieldName(index: number): string {
  return `question${index + 1}`
}

function otherName(index: number): string {
  return `other${index + 1}`
}
