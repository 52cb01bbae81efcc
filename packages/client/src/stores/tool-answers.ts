import {
  AskbackError,
  questionRequest,
  type ApprovalAnswer,
  type Interaction,
  type Json,
  type QuestionReply,
} from '@askback/protocol'
import type { CallOptions, Settled, Transport } from '../transport/transport.js'

/** The interaction itself, or the tool call that it is about. */
export type Target = Interaction | { sessionId: string; toolCallId: string }

/**
 * Answers a question. By index, counted from 0: a label or a text of one's own, several where several may be chosen; or
 * as whole replies, one for each question.
 */
export async function submitAnswers(
  transport: Transport,
  target: Target,
  answers: QuestionReply[] | Record<string, string | string[]>,
  options?: CallOptions,
): Promise<Settled> {
  const interaction = await find(transport, target, 'question')
  const replies = Array.isArray(answers) ? answers : repliesTo(interaction, answers)
  return respond(transport, interaction, { answers: replies as unknown as Json }, options)
}

/** Approves the call as it was shown. */
export async function approveTool(
  transport: Transport,
  target: Target,
  answer: Pick<ApprovalAnswer, 'scope' | 'updatedInput'> = {},
  options?: CallOptions,
): Promise<Settled> {
  const interaction = await find(transport, target, 'approval')
  return respond(transport, interaction, { decision: 'approve', ...answer } as Json, options)
}

export async function denyTool(
  transport: Transport,
  target: Target,
  message?: string,
  options?: CallOptions,
): Promise<Settled> {
  const interaction = await find(transport, target, 'approval')
  const reason = message === undefined ? {} : { message }
  return respond(transport, interaction, { decision: 'deny', ...reason }, options)
}

function respond(
  transport: Transport,
  { sessionId, interactionId, digest }: Interaction,
  answer: Json,
  options?: CallOptions,
): Promise<Settled> {
  return transport.respond({ sessionId, interactionId, answer, digest }, options)
}

async function find(transport: Transport, target: Target, kind: string): Promise<Interaction> {
  if ('interactionId' in target) return target
  const { sessionId, toolCallId } = target
  const { state } = await transport.snapshot(sessionId)
  const isMeant = (item: Interaction) => item.toolCallId === toolCallId && item.kind === kind
  const [item, another] = state.pending.filter(isMeant)
  if (another) {
    throw new AskbackError(
      'ambiguous',
      `Several ${kind}s of this tool call are pending. Answer one by its interaction id.`,
    )
  }
  const found = item ?? state.interactions.findLast(isMeant)
  if (found) return found
  throw new AskbackError('not_found', `The tool call ${toolCallId} has no ${kind} in this session.`)
}

function repliesTo({ request }: Interaction, answers: Record<string, string | string[]>): QuestionReply[] {
  const { questions } = questionRequest.parse(request)
  const unknown = Object.keys(answers).find((key) => questions[Number(key)] === undefined)
  if (unknown !== undefined) refuse(`There is no question ${JSON.stringify(unknown)}.`)
  return questions.map(({ options }, index) => {
    const given = answers[index]
    if (given === undefined) return refuse(`Question ${index + 1} has no answer.`)
    const chosen = Array.isArray(given) ? given : [given]
    const isLabel = (text: string) => options.some(({ label }) => label === text)
    const own = chosen.filter((text) => !isLabel(text))
    if (own.length > 1) refuse(`Question ${index + 1} takes one text of your own, not ${own.length}.`)
    return { selected: chosen.filter(isLabel), ...(own[0] !== undefined && { other: own[0] }) }
  })
}

function refuse(message: string): never {
  throw new AskbackError('invalid_answer', message)
}
