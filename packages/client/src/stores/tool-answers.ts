import {
  AskbackError,
  parseIndexedAnswers,
  questionRequest,
  type ApprovalAnswer,
  type Interaction,
  type Json,
  type QuestionReply,
} from '@askback/protocol'
import type { CallOptions, Settled, Transport } from '../transport/transport.js'

/**
 * The interaction itself, or the tool call that it is about. A call that has held different requests needs the interaction,
 * or the digest of the request that the person has seen: else the answer is refused as `ambiguous`.
 */
export type Target = Interaction | { sessionId: string; toolCallId: string; digest?: string }

/**
 * Answers a question. By index, counted from 0: a label or a text of one's own; where several may be chosen, an array of
 * these, or a JSON array as a string. Or as whole replies, one for each question.
 */
export async function submitAnswers(
  transport: Transport,
  target: Target,
  answers: QuestionReply[] | Record<string, string | string[]>,
  options?: CallOptions,
): Promise<Settled> {
  const found = await find(transport, target, 'question')
  const request = questionRequest.parse(found.interaction.request)
  const answer = Array.isArray(answers) ? { answers } : parseIndexedAnswers(request, answers)
  return respond(transport, found, answer as unknown as Json, options)
}

/** Approves the call as it was shown. */
export async function approveTool(
  transport: Transport,
  target: Target,
  answer: Pick<ApprovalAnswer, 'scope' | 'updatedInput'> = {},
  options?: CallOptions,
): Promise<Settled> {
  const found = await find(transport, target, 'approval')
  return respond(transport, found, { decision: 'approve', ...answer } as Json, options)
}

export async function denyTool(
  transport: Transport,
  target: Target,
  message?: string,
  options?: CallOptions,
): Promise<Settled> {
  const found = await find(transport, target, 'approval')
  const reason = message === undefined ? {} : { message }
  return respond(transport, found, { decision: 'deny', ...reason }, options)
}

interface Found {
  interaction: Interaction
  /** What tells the server which request the caller has seen. */
  seen: { digest: string } | { toolCallId: string }
}

function respond(
  transport: Transport,
  { interaction: { sessionId, interactionId }, seen }: Found,
  answer: Json,
  options?: CallOptions,
): Promise<Settled> {
  return transport.respond({ sessionId, interactionId, answer, ...seen }, options)
}

async function find(transport: Transport, target: Target, kind: string): Promise<Found> {
  if ('interactionId' in target) return { interaction: target, seen: { digest: target.digest } }
  const { sessionId, toolCallId, digest } = target
  const { state } = await transport.snapshot(sessionId)
  const isMeant = (item: Interaction) => item.toolCallId === toolCallId && item.kind === kind
  const pending = state.pending.filter(isMeant)
  const ofDigest = pending.filter((item) => item.digest === digest)
  const [item, another] = ofDigest.length > 0 ? ofDigest : pending
  if (another && (digest === undefined || ofDigest.length > 0)) {
    throw new AskbackError(
      'ambiguous',
      `Several ${kind}s of this tool call are pending. Answer one by its interaction id.`,
    )
  }
  const interaction = item ?? state.interactions.findLast(isMeant)
  if (interaction) return { interaction, seen: digest === undefined ? { toolCallId } : { digest } }
  throw new AskbackError('not_found', `The tool call ${toolCallId} has no ${kind} in this session.`)
}
