import { openInput, viewInteraction } from '@askback/protocol'
import type { Anchoring, OpenCommand } from '../decide/command.js'
import { parseWith } from '../kinds/kinds.js'
import type { OpenInput, Opened } from './desk-options.js'
import type { Engine } from './engine.js'
import { sessionKey } from './idempotency.js'
import { prepareRequest } from './prepare-request.js'
import { openAtRendezvous } from './rendezvous-open.js'

/** Parses what was sent, and opens it at its tool call. */
export async function openInteraction(
  engine: Engine,
  input: OpenInput,
  limits: { maxBytes: number; defaultTimeoutMs: number | null },
): Promise<Opened> {
  const body = parseWith(openInput, input, { code: 'invalid_request', what: 'the request' })
  const { sessionId, idempotencyKey, attach = false, role } = body
  const { kind: kindOf, clock } = engine.options
  const prepared = prepareRequest(body, { kind: kindOf, role, ...limits })
  const { turnId, responseId, agentId, edit, openedBy, source, agentThread, claimAs } = body
  const command: OpenCommand = {
    type: 'open',
    prepared,
    anchoring: anchoringOf(body),
    attach,
    turnId,
    responseId,
    agentId,
    edit,
    openedBy,
    source,
    agentThread,
    claimAs,
  }
  // What was sent, not what became of it: another default deadline makes it no other request.
  const { kind, toolName, toolCallId, request, timeoutMs, onTimeout } = body
  const sent = { kind, toolName, toolCallId, attach, request, timeoutMs, onTimeout }
  const key = sessionKey(sessionId, 'open', idempotencyKey, sent)
  const { interaction, events, repeated } = await (command.anchoring.by === 'rendezvous'
    ? openAtRendezvous(engine, sessionId, command, key, input.fence)
    : engine.run(sessionId, command, key, input.fence))
  const { interactionId } = interaction!
  const opens = events.some(
    (event) => event.type === 'interaction_request' && event.interactionId === interactionId,
  )
  return { interaction: viewInteraction(interaction!, clock.now()), created: opens && !repeated, events }
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
