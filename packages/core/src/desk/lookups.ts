import type { ApprovalRequest, Interaction, SessionState } from '@askback/protocol'
import { adoptionKey } from '../decide/adopt.js'
import type { Command, Context, OpenCommand } from '../decide/command.js'
import { editTarget } from '../decide/edit-target.js'
import type { ReadLink } from '../decide/resolve-path.js'
import type { EditTarget } from '../decide/permissions.js'
import { ruleKeys } from '../decide/rules.js'
import type { Store } from '../store/store.js'
import type { Speculative } from './speculative.js'

/** What a decision needs to know and the session's state does not hold. */
export type LookupResult = Pick<
  Context,
  'found' | 'rule' | 'edit' | 'knownCalls' | 'placeholders' | 'imported'
>

/** What is needed to tell an edit inside the session's folder from others. Only a host with a file system has it. */
export interface Edits {
  readLink: ReadLink | undefined
  protectedPaths: readonly string[]
}

const NOTHING: LookupResult = {}

/**
 * Most commands need nothing: those are spared a turn of the event loop. What has left the state's window is looked up
 * when nothing is under way, as the store does not hold that yet.
 */
export function lookUp(
  log: Speculative,
  command: Command,
  ports: { store: Store; edits: Edits },
): LookupResult | Promise<LookupResult> {
  const { state } = log
  switch (command.type) {
    case 'respond':
    case 'progress':
    case 'cancel':
    case 'deliver':
    case 'add_copy':
      return beyondWindow(log, command.interactionId, ports.store)
    case 'message':
      if (command.interactionId !== undefined) return beyondWindow(log, command.interactionId, ports.store)
      return state.source === 'adopted' && state.agentSessionId === null
        ? imported(log, ports.store)
        : NOTHING
    case 'open': {
      const attaches = command.attach && state.trimmed && command.anchoring.by === 'id'
      const approves = command.prepared.kind.kind === 'approval'
      return attaches || approves ? forOpen(log, command, ports, { attaches, approves }) : NOTHING
    }
    case 'adopt':
      return imported(log, ports.store)
    case 'report':
      return state.trimmed ? knownCalls(log, command.events, ports.store) : NOTHING
    default:
      return NOTHING
  }
}

function beyondWindow(
  log: Speculative,
  interactionId: string,
  store: Store,
): LookupResult | Promise<LookupResult> {
  const { trimmed, interactions } = log.state
  return !trimmed || interactions.has(interactionId) ? NOTHING : foundIn(log, interactionId, store)
}

async function foundIn(log: Speculative, interactionId: string, store: Store): Promise<LookupResult> {
  await log.settled()
  return { found: (await store.interaction(interactionId)) ?? undefined }
}

async function imported(log: Speculative, store: Store): Promise<LookupResult> {
  await log.settled()
  const entry = await store.kv.get(adoptionKey(log.state.sessionId))
  return { imported: entry ? (entry.value as { items: number }).items : null }
}

async function forOpen(
  log: Speculative,
  command: OpenCommand,
  { store, edits }: { store: Store; edits: Edits },
  { attaches, approves }: { attaches: boolean; approves: boolean },
): Promise<LookupResult> {
  const { state } = log
  if (attaches) await log.settled()
  return {
    ...(attaches && { found: await sameAsked(state, command, store) }),
    ...(approves && {
      rule: await hasRule(state, command, store),
      edit: await editOf(state, command, edits),
    }),
  }
}

async function sameAsked(
  state: SessionState,
  command: OpenCommand,
  store: Store,
): Promise<Interaction | undefined> {
  if (command.anchoring.by !== 'id') return undefined
  const { kind, digest } = command.prepared
  const items = await store.interactionsOf(state.sessionId, command.anchoring.toolCallId)
  return items.findLast(
    (item) => item.kind === kind.kind && item.digest === digest && item.settlement !== 'superseded',
  )
}

async function hasRule(state: SessionState, command: OpenCommand, store: Store): Promise<boolean> {
  if (state.permissionMode === 'bypassPermissions') return false
  const { toolName, digest, request } = command.prepared
  const { input } = request as ApprovalRequest
  for (const key of ruleKeys(state, { toolName, input, digest })) if (await store.kv.get(key)) return true
  return false
}

async function editOf(
  { cwd, realCwd }: SessionState,
  command: OpenCommand,
  { readLink, protectedPaths }: Edits,
): Promise<EditTarget> {
  if (command.edit) return command.edit
  const { toolName, request } = command.prepared
  const { input } = request as ApprovalRequest
  return editTarget({ toolName, input }, { cwd, realCwd, protectedPaths }, readLink)
}

function knownCalls(
  log: Speculative,
  events: Extract<Command, { type: 'report' }>['events'],
  store: Store,
): LookupResult | Promise<LookupResult> {
  const ids = events.flatMap((event) =>
    event.type === 'tool_call' || event.type === 'tool_result' ? [event.toolCallId] : [],
  )
  const unknown = ids.filter((id) => !log.state.toolCalls.has(id))
  return unknown.length === 0 ? NOTHING : callsIn(log, unknown, store)
}

async function callsIn(log: Speculative, ids: string[], store: Store): Promise<LookupResult> {
  const known = new Map<string, { ended: boolean }>()
  const placeholders = new Map<string, Interaction>()
  const { sessionId } = log.state
  await log.settled()
  for (const id of ids) {
    const call = await store.toolCall(sessionId, id)
    const asked = call ? undefined : (await store.interactionsOf(sessionId, id)).at(-1)
    if (call) known.set(id, call)
    else if (asked) placeholders.set(id, asked)
  }
  return { knownCalls: known, placeholders }
}

export function interactionIn(
  state: SessionState,
  interactionId: string,
  { found }: LookupResult,
): Interaction | undefined {
  return state.interactions.get(interactionId) ?? (found?.interactionId === interactionId ? found : undefined)
}
