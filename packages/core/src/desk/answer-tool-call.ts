import {
  AskbackError,
  copyJson,
  pendingOf,
  type ApprovalScope,
  type Interaction,
  type Json,
  type QuestionRequest,
} from '@askback/protocol'
import { alreadySettled, expired } from '../decide/settle.js'
import { parseIndexedAnswers } from '../kinds/question.js'
import { optional } from '../optional.js'
import type { Origin } from './desk-options.js'
import type { Engine } from './engine.js'
import { recall, sessionKey } from './idempotency.js'

/** What the routes that go by a tool call's id take. */
export type ToolCallAnswer =
  | { kind: 'question'; answers: Record<string, unknown> }
  | {
      kind: 'approval'
      decision: 'approve'
      scope?: ApprovalScope | undefined
      updatedInput?: Json | undefined
      digest?: string | undefined
    }
  | { kind: 'approval'; decision: 'deny'; message?: string | undefined }

/** Settles the one interaction that is meant. */
export async function answerToolCall(
  engine: Engine,
  input: Origin & ToolCallAnswer & { sessionId: string; toolCallId: string },
): Promise<Interaction> {
  const { sessionId, by, via = 'direct', idempotencyKey, ...body } = input
  const key = sessionKey(sessionId, 'answer', idempotencyKey, body)
  const recorded = () => (key ? recall(engine.options, key) : Promise.resolve(null))
  // Before looking for it: what a repeated answer has settled is no longer pending.
  const seen = await recorded()
  if (seen) return seen.interaction!
  let item: Interaction
  try {
    item = await pendingOfCall(engine, input)
  } catch (error) {
    // It may have been settled by the same answer, sent twice at once.
    const since = await recorded()
    if (since) return since.interaction!
    throw error
  }
  const { answer, ...target } = answerOf(item, input)
  const checked = copyJson(answer, 'answer')
  const command = { type: 'respond', ...target, answer: checked, via, ...optional({ by }) } as const
  const ran = await engine.run(sessionId, command, key)
  return ran.interaction!
}

function answerOf(
  item: Interaction,
  input: ToolCallAnswer,
): { interactionId: string; answer: Json; digest?: string } {
  const { interactionId } = item
  if (input.kind === 'question') {
    const answer = parseIndexedAnswers(item.request as QuestionRequest, input.answers)
    return { interactionId, answer: answer as unknown as Json }
  }
  if (input.decision === 'deny') {
    return { interactionId, answer: { decision: 'deny', ...optional({ message: input.message }) } }
  }
  const { scope, updatedInput, digest } = input
  return {
    interactionId,
    answer: { decision: 'approve', ...optional({ scope, updatedInput }) },
    ...optional({ digest }),
  }
}

async function pendingOfCall(
  engine: Engine,
  target: { sessionId: string; toolCallId: string; kind: string },
): Promise<Interaction> {
  const { sessionId, toolCallId, kind } = target
  const ofCall = (item: Interaction) => item.toolCallId === toolCallId && item.kind === kind
  const inMemory = await engine.read(sessionId, (state) => pendingOf(state).filter(ofCall))
  const isHere = inMemory.length > 0
  // Else it was settled, or another process has just opened it.
  const asked = isHere ? inMemory : await engine.options.store.interactionsOf(sessionId, toolCallId)
  const pending = asked.filter((one) => ofCall(one) && one.status === 'pending')
  const late = pending.filter((one) => expired(one, engine.options.clock.now()))
  for (const { interactionId } of late) await engine.run(sessionId, { type: 'expire', interactionId })
  if (late.length > 0) return pendingOfCall(engine, target)
  const [item, another] = pending
  if (item && another) {
    throw new AskbackError(
      'ambiguous',
      `Several ${kind}s of this tool call are pending. Answer one by its interaction id.`,
      {
        details: { interactionIds: pending.map(({ interactionId }) => interactionId) },
      },
    )
  }
  if (item) return item
  const settled = asked.findLast(ofCall)
  if (settled) throw alreadySettled(settled)
  throw new AskbackError('not_found', `The tool call ${toolCallId} has no ${kind} in this session.`)
}
