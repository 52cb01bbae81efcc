import {
  AskbackError,
  canonicalJson,
  copyJson,
  digestOf,
  digestOfCanonical,
  onTimeout as onTimeoutSchema,
  openInput,
  type Json,
  type OpenBody,
  type OpenInput,
  type SessionEvent,
} from '@askback/protocol'
import { parseCallInput, receiverOf, type Caller, type Role } from '../../decide/caller.js'
import type { Anchoring, OpenCommand, PreparedRequest } from '../../decide/command.js'
import { RENDEZVOUS_WAIT_MS } from '../../decide/rendezvous.js'
import { applyAnswer } from '../../decide/settle.js'
import { inputOfApproval } from '../../kinds/approval.js'
import { atOnce, forSchema, parseWith, type InteractionKind } from '../../kinds/kinds.js'
import type { Fence } from '../../store/store.js'
import { checkTimeout, type Opened } from '../desk-options.js'
import type { Engine } from '../engine.js'
import { sessionKey, type IdempotencyKey, type CommandResult } from '../idempotency.js'

export interface RequestLimits {
  maxBytes: number
  defaultTimeoutMs: number | null
}

/** Validates a request and opens an interaction at its tool call. */
export async function openInteraction(
  engine: Engine,
  caller: Caller,
  input: OpenInput,
  limits: RequestLimits,
): Promise<Opened> {
  const body = parseCallInput(openInput, input, 'the request')
  const { sessionId, idempotencyKey, attach = false } = body
  const { role, fence } = caller
  const prepared = prepareRequest(body, engine.options.kind, limits, role)
  const { turnId, responseId, agentId, edit, source, notes, agentThread, claim = false } = body
  const command: OpenCommand = {
    type: 'open',
    prepared,
    anchoring: anchoringOf(body),
    attach,
    turnId,
    responseId,
    agentId,
    edit,
    openedBy: caller.id,
    source,
    notes,
    agentThread,
    claimAs: claim ? receiverOf(caller) : undefined,
  }
  const key = idempotencyKey === undefined ? undefined : openKey(body, idempotencyKey)
  const { interaction, events, repeated } = await (command.anchoring.by === 'rendezvous'
    ? openAtRendezvous(engine, sessionId, command, key, fence)
    : engine.run(sessionId, command, { key, fence }))
  const { interactionId } = interaction!
  const opens = events.some(
    (event) => event.type === 'interaction_request' && event.interactionId === interactionId,
  )
  return { interaction: engine.view(interaction!), created: opens && !repeated, events }
}

/** The fingerprint is of what was sent, so a changed default timeout does not make a repeated request a different one. */
function openKey(body: OpenInput, idempotencyKey: string): IdempotencyKey | undefined {
  const { sessionId, kind, toolName, toolCallId, attach = false, request, timeoutMs, onTimeout } = body
  const sent = { kind, toolName, toolCallId, attach, request, timeoutMs, onTimeout }
  return sessionKey(sessionId, 'open', idempotencyKey, sent)
}

function anchoringOf(input: {
  toolCallId?: string | undefined
  anchorTo?: string | undefined
  rendezvous?: boolean | undefined
}): Anchoring {
  const { toolCallId: named, anchorTo, rendezvous } = input
  const toolCallId = named ?? anchorTo
  if (toolCallId !== undefined) return { by: 'id', toolCallId }
  return rendezvous ? { by: 'rendezvous', waited: false } : { by: 'itself' }
}

/** The part of opening that does not depend on the session: parses, copies, measures and hashes the request. */
function prepareRequest(
  input: Pick<OpenBody, 'kind' | 'toolName' | 'request' | 'timeoutMs' | 'onTimeout'>,
  kindOf: (name: string) => InteractionKind | undefined,
  { maxBytes, defaultTimeoutMs }: RequestLimits,
  role: Role | undefined,
): PreparedRequest {
  const kind = kindOf(input.kind)
  if (!kind) {
    throw new AskbackError(
      'unknown_kind',
      `The kind ${JSON.stringify(input.kind)} is not defined here. Correct its name, or add it to the kinds of the gateway and restart it.`,
    )
  }
  const request = copyJson(input.request, 'request')
  const text = canonicalJson(request)
  if (isLargerThan(maxBytes, text)) {
    throw new AskbackError('too_large', `The request is larger than ${maxBytes} bytes.`)
  }
  const parsed = parseWith(kind.request, forSchema(kind, request), {
    code: 'invalid_request',
    what: 'the request',
  })
  atOnce(kind, 'checkRequest', kind.checkRequest?.(parsed))
  const toolName = input.toolName ?? kind.kind
  const { timeoutMs = defaultTimeoutMs } = input
  checkTimeout(timeoutMs, 'timeoutMs')
  return {
    kind,
    toolName,
    request,
    digest:
      kind.kind === 'approval'
        ? digestOf(toolName, inputOfApproval(request))
        : digestOfCanonical(toolName, text),
    timeoutMs,
    onTimeout: checkedOnTimeout(kind, request, input.onTimeout, role),
  }
}

/** L5: an answer that is declared for the deadline must be valid now, and an agent may not declare its own permission. */
function checkedOnTimeout(
  kind: InteractionKind,
  request: Json,
  value: unknown,
  role: Role | undefined,
): PreparedRequest['onTimeout'] {
  if (value === undefined) return 'deny'
  const parsed = parseWith(onTimeoutSchema, copyJson(value, 'onTimeout'), {
    code: 'invalid_request',
    what: 'onTimeout',
  })
  if (typeof parsed === 'string') return parsed
  if (role === 'agent' && (kind.kind === 'approval' || kind.kind === 'plan_review')) {
    throw new AskbackError('forbidden', `An agent may not declare the answer to its own ${kind.kind}.`)
  }
  const result = applyAnswer(kind, request, parsed.answer)
  if (!('errors' in result)) return parsed
  throw new AskbackError(
    'invalid_answer',
    'The declared default answer does not pass the form’s own checks.',
    {
      details: { errors: result.errors },
    },
  )
}

const encoder = new TextEncoder()

function isLargerThan(maxBytes: number, text: string): boolean {
  // A UTF-16 code unit has one to three bytes in UTF-8, so most requests are known to be small without encoding them.
  return text.length * 3 > maxBytes && encoder.encode(text).length > maxBytes
}

/** Opens an interaction that names no tool call: waits for a matching call to be recorded, up to a limit. */
async function openAtRendezvous(
  engine: Engine,
  sessionId: string,
  command: OpenCommand,
  key?: IdempotencyKey,
  fence?: Fence,
): Promise<CommandResult> {
  const { clock } = engine.options
  let waited = false
  let tryAgain = () => {}
  // The alarm ends the wait, not a comparison of times: the clock may be set back meanwhile.
  const disarm = clock.alarm(clock.now() + RENDEZVOUS_WAIT_MS, () => {
    waited = true
    tryAgain()
  })
  let stop = () => {}
  try {
    ;({ stop } = await engine.follow(sessionId, {
      advanced({ events }) {
        // A new tool call, or one that is free again because its interaction is settled.
        const mayMatch = ({ type }: SessionEvent) => type === 'tool_call' || type === 'interaction_response'
        if (events.some(mayMatch)) tryAgain()
      },
      gone: () => tryAgain(),
    }))
    for (;;) {
      const changed = new Promise<void>((resolve) => (tryAgain = resolve))
      const anchored: OpenCommand = { ...command, anchoring: { by: 'rendezvous', waited } }
      const result = await engine.run(sessionId, anchored, { key, fence })
      if (!result.wait) return result
      await changed
    }
  } finally {
    stop()
    disarm()
  }
}
