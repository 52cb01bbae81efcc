import {
  AskbackError,
  copyJson,
  parseIndexedAnswers,
  pendingMeantBy,
  type ApprovalScope,
  type Interaction,
  type Json,
  type QuestionRequest,
  type Repeatable,
  type ToolCall,
  type ToolCallBody,
} from '@askback/protocol'
import type { Caller } from '../../decide/caller.js'
import { alreadySettled, isExpired } from '../../decide/settle.js'
import { optional } from '../../optional.js'
import type { Engine } from '../engine.js'
import { recall, sessionKey, type IdempotencyKey } from '../idempotency.js'

/** The answer to the question or approval of a tool call, for callers that know only the call. */
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

/** Settles the pending interaction of a tool call. Refuses with `ambiguous` if more than one could be meant. */
export async function answerToolCall(
  engine: Engine,
  { by, via = 'direct', fence }: Caller,
  input: Repeatable & ToolCallAnswer & { sessionId: string; toolCallId: string },
): Promise<Interaction> {
  const { sessionId, idempotencyKey, ...body } = input
  const key = sessionKey(sessionId, 'answer', idempotencyKey, body)
  const recorded = () => (key ? recall(engine.options, key) : Promise.resolve(null))
  // Checked first: after a repeated answer the interaction is no longer pending and would not be found.
  const seen = await recorded()
  if (seen) return seen.interaction!
  let item: Interaction
  try {
    item = await pendingOfCall(engine, input)
  } catch (error) {
    // The same answer may have been sent twice at once, and the other one settled it.
    const since = await recorded()
    if (since) return since.interaction!
    throw error
  }
  const { interactionId } = item
  const answer = copyJson(answerOf(item, input), 'answer')
  const { digest } = input
  const command = { type: 'respond', interactionId, answer, via, ...optional({ by, digest }) } as const
  const { interaction } = await engine.run(sessionId, command, { key, fence })
  return interaction!
}

function answerOf(item: Interaction, input: ToolCallAnswer): Json {
  if (input.kind === 'question') {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `pendingOfCall` has found an interaction of this kind
    return parseIndexedAnswers(item.request as QuestionRequest, input.answers)
  }
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
  const asked = await interactionsOfCall(engine, target)
  const late = asked.filter((one) => one.status === 'pending' && isExpired(one, engine.options.clock.now()))
  for (const one of late) await engine.run(sessionId, { type: 'expire', interactionId: one.interactionId })
  if (late.length > 0) return pendingOfCall(engine, target)
  const meant =
    interactionId === undefined ? asked : asked.filter((one) => one.interactionId === interactionId)
  const pending = meant.filter((one) => one.status === 'pending')
  const { candidates, isAmbiguous } = pendingMeantBy(pending, digest)
  const isNamed = digest !== undefined || interactionId !== undefined
  if (candidates.length > 0 && !isNamed && hasDifferentDigests(asked)) throw ambiguous(kind, asked)
  if (isAmbiguous) throw ambiguous(kind, candidates)
  if (candidates[0]) return candidates[0]
  const settled = meant.at(-1)
  if (settled) throw alreadySettled(settled)
  throw new AskbackError('not_found', `The tool call ${toolCallId} has no ${kind} in this session.`)
}

/**
 * For a caller that knows only the tool call of an interaction: refuses the answer if that call had different requests, because the
 * person may have seen another one.
 */
export async function checkKnownByCall(
  engine: Engine,
  { sessionId, toolCallId, interactionId }: { sessionId: string; toolCallId: string; interactionId: string },
  key: ReturnType<typeof sessionKey>,
): Promise<void> {
  // A repeated answer has the result of the first, also if the call had other requests since.
  if (key && (await recall(engine.options, key))) return
  const asked = await interactionsOfCall(engine, { sessionId, toolCallId })
  const item = asked.find((one) => one.interactionId === interactionId)
  if (!item) throw new AskbackError('not_found', `The tool call ${toolCallId} has no such interaction.`)
  const same = asked.filter((one) => one.kind === item.kind)
  if (item.status === 'pending' && hasDifferentDigests(same)) throw ambiguous(item.kind, same)
}

/** All interactions that a tool call ever had, oldest first, including those outside the state's window. */
async function interactionsOfCall(
  engine: Engine,
  { sessionId, toolCallId, kind }: { sessionId: string; toolCallId: string; kind?: string },
): Promise<Interaction[]> {
  const isMeant = (item: Interaction) =>
    item.toolCallId === toolCallId && (kind === undefined || item.kind === kind)
  const stored = await engine.options.store.interactionsOf(sessionId, toolCallId)
  // Memory is read after the store, so that newer changes win.
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
    `This tool call has had several ${kind}s. Name the \`digest\` of the one you have seen, or its \`interactionId\`.`,
    { details: { interactionIds: interactions.map(({ interactionId }) => interactionId), interactions } },
  )
}

type ReportedToolCall = ToolCallBody & { sessionId: string; source?: NonNullable<ToolCall['source']> }

/** Records a tool call of an agent outside of the gateway. A repeated id or idempotency key writes nothing. */
export async function reportToolCall(
  engine: Engine,
  { fence }: Caller,
  input: ReportedToolCall,
  key: IdempotencyKey | undefined,
): Promise<{ toolCall: ToolCall; created: boolean }> {
  const { sessionId, toolCallId = engine.options.newId(), ...call } = input
  const reported = optional({ toolCallId, ...call })
  const result = await engine.run(
    sessionId,
    { type: 'report', events: [{ type: 'tool_call', ...reported }] },
    { key, fence },
  )
  const event = result.events.find((each) => each.type === 'tool_call')
  const id = event?.toolCallId ?? toolCallId
  const known = await engine.read(sessionId, (state) => state.toolCalls.get(id))
  // A repeated call may be outside the state's window.
  const toolCall = known ?? { ...reported, toolCallId: id, at: event?.at ?? engine.options.clock.now() }
  return { toolCall, created: event !== undefined && !result.repeated }
}
