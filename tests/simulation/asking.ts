import type { OpenInput } from '@askback/core'
import { digestOf, type Json, type OnTimeout } from '@askback/protocol'
import { kinds, randomAnswer, randomRequest, type KindName } from './requests.js'
import type { SentOpen } from './sent.js'
import type { Random } from './random.js'

export type Asking = OpenInput & { agentId: string; kind: KindName; toolName: string }

/** A random request, new or repeated, with random options, and the effect that it must have. */
export function randomAsking(
  random: Random,
  id: string,
  { sessionId, cwd, before }: { sessionId: string; cwd?: string | undefined; before: Asking[] },
): { input: Asking; sent: SentOpen } {
  const again = before.length > 0 && random.chance(0.4) ? random.pick(before) : undefined
  const kind = again?.kind ?? random.pick(kinds)
  // The same request again, or another one at the same tool call (L11).
  const { toolName, request } = again && random.chance(0.5) ? again : randomRequest(kind, random)
  const toolCallId =
    again?.toolCallId ?? (random.chance(0.5) ? `${sessionId}-t${random.between(1, 3)}` : undefined)
  // Sometimes a default answer whose rule cannot be stored, as the session has no folder.
  const lasting = cwd !== undefined || random.chance(0.1)
  const onTimeout = random.weighted<() => OnTimeout | undefined>([
    [5, () => undefined],
    [2, () => 'keep'],
    [2, () => ({ answer: randomAnswer(kind, request, { random, lasting, valid: true }).answer })],
  ])()
  const timeoutMs = random.weighted<number | null | undefined>([
    [3, 500],
    [3, 4000],
    [2, 60_000],
    [2, null],
    [2, undefined],
  ])
  const input: Asking = {
    agentId: id,
    sessionId,
    kind,
    toolName,
    request,
    ...(toolCallId === undefined ? random.chance(0.5) && { rendezvous: true } : { toolCallId }),
    ...(random.chance(0.5) && { attach: true }),
    ...(onTimeout !== undefined && { onTimeout }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(random.chance(0.5) && { idempotencyKey: id }),
    ...(random.chance(0.1) && { edit: random.pick(['inside', 'outside', 'plan_file', 'none'] as const) }),
  }
  const subject = kind === 'approval' ? (request as { input: Json }).input : request
  const sent: SentOpen = {
    what: 'open',
    digest: digestOf(toolName, subject),
    attach: input.attach === true,
    owns: input.attach === true && toolCallId !== undefined,
    keyed: input.idempotencyKey !== undefined,
    edit: input.edit ?? editOf(toolName, subject, cwd),
  }
  return { input, sent }
}

function editOf(toolName: string, input: Json, cwd: string | undefined): SentOpen['edit'] {
  if (toolName !== 'Write') return 'none'
  const { file_path: path } = input as { file_path: string }
  return cwd !== undefined && path.startsWith(`${cwd}/`) ? 'inside' : 'outside'
}

export function describe({ sessionId, kind, toolCallId, ...rest }: Asking): string {
  const { attach, timeoutMs, onTimeout, idempotencyKey, rendezvous } = rest
  const options = { toolCallId, attach, timeoutMs, onTimeout, idempotencyKey, rendezvous }
  return `${kind} in ${sessionId} ${JSON.stringify(options)}`
}
