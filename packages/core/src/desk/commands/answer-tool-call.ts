import {
  AskbackError,
  copyJson,
  parseIndexedAnswers,
  type ApprovalScope,
  type Interaction,
  type Json,
  type QuestionRequest,
} from '@askback/protocol'
import { alreadySettled, isExpired } from '../../decide/settle.js'
import { optional } from '../../optional.js'
import type { Origin } from '../desk-options.js'
import type { Engine } from '../engine.js'
import { recall, sessionKey } from '../idempotency.js'

/** What the routes that go by a tool call's id take. */
export type ToolCallAnswer = { digest?: string | undefined; interactionId?: string | undefined } & (
  | { kind: 'question'; answers: Record<string, unknown> }
  | {
      kind: 'approval'
      decision: 'approve'
      scope?: ApprovalScope | undefined
      updatedInput?: Json | undefined
    }
  | { kind: 'approval'; decision: 'deny'; message?: string | undefined }
)

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
  const { interactionId } = item
  const answer = copyJson(answerOf(item, input), 'answer')
  const { digest } = input
  const command = { type: 'respond', interactionId, answer, via, ...optional({ by, digest }) } as const
  const ran = await engine.run(sessionId, command, key)
  return ran.interaction!
}

function answerOf(item: Interaction, input: ToolCallAnswer): Json {
  if (input.kind === 'question')
    return parseIndexedAnswers(item.request as QuestionRequest, input.answers) as unknown as Json
  if (input.decision === 'deny') return { decision: 'deny', ...optional({ message: input.message }) }
  const { scope, updatedInput } = input
  return { decision: 'approve', ...optional({ scope, updatedInput }) }
}

interface ToolCallTarget {
  sessionId: string
  toolCallId: string
  kind: string
  /** Of the request that the caller has seen. */
  digest?: string | undefined
  interactionId?: string | undefined
}

async function pendingOfCall(engine: Engine, target: ToolCallTarget): Promise<Interaction> {
  const { sessionId, toolCallId, kind, digest, interactionId } = target
  const asked = await askedOfCall(engine, target)
  const late = asked.filter((one) => one.status === 'pending' && isExpired(one, engine.options.clock.now()))
  for (const one of late) await engine.run(sessionId, { type: 'expire', interactionId: one.interactionId })
  if (late.length > 0) return pendingOfCall(engine, target)
  const meant =
    interactionId === undefined ? asked : asked.filter((one) => one.interactionId === interactionId)
  const pending = meant.filter((one) => one.status === 'pending')
  const ofDigest = pending.filter((one) => one.digest === digest)
  const candidates = ofDigest.length > 0 ? ofDigest : pending
  const isNamed = digest !== undefined || interactionId !== undefined
  if (candidates.length > 0 && !isNamed && hasDifferentDigests(asked)) throw ambiguous(kind, asked)
  // Of several that all have another digest any will do: the answer is refused for that.
  const isOne = candidates.length === 1 || (digest !== undefined && ofDigest.length === 0)
  if (candidates.length > 0 && !isOne) throw ambiguous(kind, candidates)
  if (candidates[0]) return candidates[0]
  const settled = meant.at(-1)
  if (settled) throw alreadySettled(settled)
  throw new AskbackError('not_found', `The tool call ${toolCallId} has no ${kind} in this session.`)
}

/**
 * Refuses an answer to one interaction by a caller that knows no more of it than its tool call, once that call has held
 * different requests: the person may have seen another one.
 */
export async function checkKnownByCall(
  engine: Engine,
  { sessionId, toolCallId, interactionId }: { sessionId: string; toolCallId: string; interactionId: string },
  key: ReturnType<typeof sessionKey>,
): Promise<void> {
  // A repeated answer counts as it did the first time, whatever the call has held since.
  if (key && (await recall(engine.options, key))) return
  const asked = await askedOfCall(engine, { sessionId, toolCallId })
  const item = asked.find((one) => one.interactionId === interactionId)
  if (!item) throw new AskbackError('not_found', `The tool call ${toolCallId} has no such interaction.`)
  const same = asked.filter((one) => one.kind === item.kind)
  if (item.status === 'pending' && hasDifferentDigests(same)) throw ambiguous(item.kind, same)
}

/** All that a tool call has ever held, oldest first. The store also knows what has left the state's window. */
async function askedOfCall(
  engine: Engine,
  { sessionId, toolCallId, kind }: { sessionId: string; toolCallId: string; kind?: string },
): Promise<Interaction[]> {
  const isMeant = (item: Interaction) =>
    item.toolCallId === toolCallId && (kind === undefined || item.kind === kind)
  const stored = await engine.options.store.interactionsOf(sessionId, toolCallId)
  // Read last: what has changed since then is in memory.
  const inMemory = await engine.read(sessionId, (state) => [...state.interactions.values()].filter(isMeant))
  const asked = new Map(stored.filter(isMeant).map((item) => [item.interactionId, item]))
  for (const item of inMemory)
    if (asked.get(item.interactionId)?.status !== 'settled') asked.set(item.interactionId, item)
  return [...asked.values()]
}

function hasDifferentDigests(asked: readonly Interaction[]): boolean {
  return asked.some(({ digest }) => digest !== asked[0]!.digest)
}

const MAX_LISTED = 20

function ambiguous(kind: string, asked: readonly Interaction[]): AskbackError {
  const interactions = asked
    .slice(-MAX_LISTED)
    .map(({ interactionId, digest, status }) => ({ interactionId, digest, status }))
  return new AskbackError(
    'ambiguous',
    `This tool call has held several ${kind}s. Name the \`digest\` of the one you have seen, or its \`interactionId\`.`,
    { details: { interactionIds: interactions.map(({ interactionId }) => interactionId), interactions } },
  )
}
