import {
  AskbackError,
  parseIndexedAnswers,
  pendingMeantBy,
  questionRequest,
  type ApprovalAnswer,
  type Interaction,
  type Json,
  type QuestionReply,
} from '@askback/protocol'
import type { CallOptions, SettleResult, Transport } from '../transport/transport.js'

/**
 * What to answer: an interaction, or a tool call with one. If the call has had requests with different digests, name the digest
 * of the request that the person has seen; else the answer is refused as `ambiguous`.
 */
export type AnswerTarget = Interaction | { sessionId: string; toolCallId: string; digest?: string }

/**
 * Answers a question. `answers` maps the index of each question, counted from 0, to a label or a text of the person's own; for a
 * question that takes several options, to an array of these, or a JSON array as a string. Or it is a list of whole replies, one
 * for each question. Throws `invalid_answer` if it does not fit, and `already_settled` if somebody else was first.
 *
 * @example
 * await submitAnswers(transport, { sessionId, toolCallId }, { 0: 'SQLite', 1: ['a', 'c'] })
 */
export async function submitAnswers(
  transport: Transport,
  target: AnswerTarget,
  answers: QuestionReply[] | Record<string, string | string[]>,
  options?: CallOptions,
): Promise<SettleResult> {
  const found = await findInteraction(transport, target, 'question')
  const request = questionRequest.parse(found.interaction.request)
  const answer = Array.isArray(answers) ? { answers } : parseIndexedAnswers(request, answers)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an answer of the protocol is JSON; its type is an interface, which has no index signature
  return respond(transport, found, answer as unknown as Json, options)
}

/**
 * Approves a tool call as it was shown. Throws `already_settled` if somebody else was first.
 *
 * @example
 * await approveTool(transport, interaction, { scope: 'session' })
 */
export async function approveTool(
  transport: Transport,
  target: AnswerTarget,
  answer: Pick<ApprovalAnswer, 'scope' | 'updatedInput'> = {},
  options?: CallOptions,
): Promise<SettleResult> {
  const found = await findInteraction(transport, target, 'approval')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an answer of the protocol is JSON; its type is an interface, which has no index signature
  return respond(transport, found, { decision: 'approve', ...answer } as Json, options)
}

/**
 * Denies a tool call. The agent gets `message` as the reason. Throws `already_settled` if somebody else was first.
 *
 * @example
 * await denyTool(transport, interaction, 'Use npm, not yarn.')
 */
export async function denyTool(
  transport: Transport,
  target: AnswerTarget,
  message?: string,
  options?: CallOptions,
): Promise<SettleResult> {
  const found = await findInteraction(transport, target, 'approval')
  const reason = message === undefined ? {} : { message }
  return respond(transport, found, { decision: 'deny', ...reason }, options)
}

interface FoundInteraction {
  interaction: Interaction
  /** Says which request the person has seen. */
  seen: { digest: string } | { toolCallId: string }
}

function respond(
  transport: Transport,
  { interaction: { sessionId, interactionId }, seen }: FoundInteraction,
  answer: Json,
  options?: CallOptions,
): Promise<SettleResult> {
  return transport.respond({ sessionId, interactionId, answer, ...seen }, options)
}

async function findInteraction(
  transport: Transport,
  target: AnswerTarget,
  kind: string,
): Promise<FoundInteraction> {
  if ('interactionId' in target) return { interaction: target, seen: { digest: target.digest } }
  const { sessionId, toolCallId, digest } = target
  const { state } = await transport.snapshot(sessionId)
  const isMeant = (item: Interaction) => item.toolCallId === toolCallId && item.kind === kind
  const { candidates, isAmbiguous } = pendingMeantBy(state.pending.filter(isMeant), digest)
  if (isAmbiguous) {
    throw new AskbackError(
      'ambiguous',
      `Several ${kind}s of this tool call are pending. Answer one by its interaction id.`,
    )
  }
  const interaction = candidates[0] ?? state.interactions.findLast(isMeant)
  if (interaction) return { interaction, seen: digest === undefined ? { toolCallId } : { digest } }
  throw new AskbackError('not_found', `The tool call ${toolCallId} has no ${kind} in this session.`)
}
