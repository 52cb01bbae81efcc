import { latestSameRequest, type Interaction, type SessionState } from '@askback/protocol'
import { adoptedItems, adoptionKey } from '../decide/adopt.js'
import type { Command, Context, OpenCommand } from '../decide/command.js'
import { editTarget } from '../decide/edit-target.js'
import type { ReadLink } from '../decide/resolve-path.js'
import type { EditTarget } from '../decide/permissions.js'
import { ruleKeys } from '../decide/rules.js'
import { inputOfApproval } from '../kinds/approval.js'
import type { Store } from '../store/store.js'
import type { Speculative } from './speculative.js'

/** Facts that a decision needs and the session's state does not hold. */
export type LookupResult = Pick<
  Context,
  'found' | 'rule' | 'edit' | 'knownCalls' | 'placeholders' | 'imported'
>

/** How to tell edits inside the session's folder from others. */
export interface EditCheck {
  /** Undefined on a host without a file system. */
  readLink: ReadLink | undefined
  protectedPaths: readonly string[]
}

const NOTHING: LookupResult = {}

/**
 * Reads what a command needs from the store. Returns a plain value, not a promise, for the many commands that need nothing: that saves a
 * turn of the event loop. What is outside the state's window is read after pending appends have ended, because the store does not
 * hold those yet.
 */
export function lookUp(
  log: Speculative,
  command: Command,
  ports: { store: Store; edits: EditCheck },
): LookupResult | Promise<LookupResult> {
  const { state } = log
  switch (command.type) {
    case 'respond':
    case 'progress':
    case 'cancel':
    case 'deliver':
    case 'add_copy':
      return outsideWindow(log, command.interactionId, ports.store)
    case 'message':
      if (command.interactionId !== undefined) return outsideWindow(log, command.interactionId, ports.store)
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

function outsideWindow(
  log: Speculative,
  interactionId: string,
  store: Store,
): LookupResult | Promise<LookupResult> {
  const { trimmed, interactions } = log.state
  return !trimmed || interactions.has(interactionId) ? NOTHING : foundIn(log, interactionId, store)
}

async function foundIn(log: Speculative, interactionId: string, store: Store): Promise<LookupResult> {
  await log.settled()
  if (store.shared) {
    // Another process may have opened it a moment ago. A decision on the state before that would conflict when it is
    // appended, and then the whole state is loaded again.
    await log.committed.pull()
    if (log.stale || log.state.interactions.has(interactionId)) return NOTHING
  }
  return { found: (await store.interaction(interactionId)) ?? undefined }
}

async function imported(log: Speculative, store: Store): Promise<LookupResult> {
  await log.settled()
  const entry = await store.kv.get(adoptionKey(log.state.sessionId))
  return { imported: entry ? adoptedItems(entry.value) : null }
}

async function forOpen(
  log: Speculative,
  command: OpenCommand,
  { store, edits }: { store: Store; edits: EditCheck },
  { attaches, approves }: { attaches: boolean; approves: boolean },
): Promise<LookupResult> {
  const { state } = log
  if (attaches) await log.settled()
  return {
    ...(attaches && { found: await sameRequest(state, command, store) }),
    ...(approves && {
      rule: await hasRule(state, command, store),
      edit: await editOf(state, command, edits),
    }),
  }
}

async function sameRequest(
  state: SessionState,
  command: OpenCommand,
  store: Store,
): Promise<Interaction | undefined> {
  if (command.anchoring.by !== 'id') return undefined
  const { toolCallId } = command.anchoring
  const { kind, digest } = command.prepared
  const items = await store.interactionsOf(state.sessionId, toolCallId)
  return latestSameRequest(items, { toolCallId, kind: kind.kind, digest })
}

async function hasRule(state: SessionState, command: OpenCommand, store: Store): Promise<boolean> {
  if (state.permissionMode === 'bypassPermissions') return false
  const { toolName, digest, request } = command.prepared
  const input = inputOfApproval(request)
  for (const key of ruleKeys(state, { toolName, input, digest })) if (await store.kv.get(key)) return true
  return false
}

async function editOf(
  { cwd, realCwd }: SessionState,
  command: OpenCommand,
  { readLink, protectedPaths }: EditCheck,
): Promise<EditTarget> {
  if (command.edit) return command.edit
  const { toolName, request } = command.prepared
  const input = inputOfApproval(request)
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

/** What was looked up, or `null` if the state changed meanwhile: what was read from the store does not include what was appended since. */
export async function unlessChanged(
  log: Speculative,
  looking: Promise<LookupResult>,
): Promise<LookupResult | null> {
  const { seq } = log.state
  const window = windowOf(log.state)
  const found = await looking
  const hasChanged = log.stale || windowOf(log.state) !== window
  return hasChanged || (isOutsideWindow(found) && log.state.seq !== seq) ? null : found
}

/** Changes when turns enter or leave the window. */
function windowOf({ trimmed, turns }: SessionState): string {
  return trimmed ? `${turns.length} ${turns.at(-1)?.key}` : ''
}

function isOutsideWindow({ found, knownCalls, placeholders, imported }: LookupResult): boolean {
  return (
    found !== undefined ||
    (knownCalls?.size ?? 0) > 0 ||
    (placeholders?.size ?? 0) > 0 ||
    imported !== undefined
  )
}
