import { AskbackError } from '@askback/protocol'
import type { JsonRpcConnection } from '../program/json-rpc.js'
import type { ThreadOpened } from './app-server-protocol.js'

export interface ThreadSettings {
  cwd: string | null
  model: string | null
}

/** Askback decides what may run. Approved commands still run in Codex's sandbox. */
const RULES = { approvalsReviewer: 'user', sandbox: 'workspace-write' }

/**
 * With `untrusted` Codex asks about every command that is not known to be harmless. Some versions, or the settings of an
 * administrator, refuse this policy. With `on-request` it asks only before it leaves its sandbox.
 */
const POLICIES = ['untrusted', 'on-request']

/** Returns `null` if Codex does not have the thread any more. */
export async function resumeThread(
  connection: JsonRpcConnection,
  threadId: string,
  settings: ThreadSettings,
): Promise<ThreadOpened | null> {
  try {
    return await openThread(connection, 'thread/resume', { threadId, ...paramsOf(settings) })
  } catch (error) {
    if (isUnknownThread(error)) return null
    throw error
  }
}

export function startThread(connection: JsonRpcConnection, settings: ThreadSettings): Promise<ThreadOpened> {
  return openThread(connection, 'thread/start', paramsOf(settings))
}

/** A notice for people if Codex does not leave every decision to them; `null` if it does. */
export function decidesAloneNotice({ approvalPolicy, approvalsReviewer }: ThreadOpened): string | null {
  if (approvalsReviewer !== undefined && approvalsReviewer !== 'user')
    return 'Codex decides by itself: a model approves what it does, not you. Its own settings say so.'
  // Older versions do not report the policy.
  if (approvalPolicy === undefined || approvalPolicy === 'untrusted') return null
  const policy =
    typeof approvalPolicy === 'string' ? approvalPolicy : (Object.keys(approvalPolicy)[0] ?? 'unknown')
  if (policy === 'never')
    return 'Codex decides by itself: its approval policy is “never” here, so it asks nobody. Only its sandbox limits it.'
  return `Codex decides by itself what to run inside its sandbox: its approval policy is “${policy}” here, so it asks you only to leave the sandbox.`
}

/** Uses the strictest policy that this Codex accepts. */
async function openThread(
  connection: JsonRpcConnection,
  method: string,
  params: object,
): Promise<ThreadOpened> {
  for (const approvalPolicy of POLICIES) {
    try {
      return await connection.request<ThreadOpened>(method, { ...params, approvalPolicy })
    } catch (error) {
      if (!isPolicyRefused(error, approvalPolicy)) throw error
    }
  }
  const policies = POLICIES.map((policy) => `“${policy}”`).join(' and ')
  throw new AskbackError(
    'unavailable',
    `This Codex cannot ask for approval: it takes neither of the policies ${policies}.`,
  )
}

function paramsOf({ cwd, model }: ThreadSettings): object {
  return { ...RULES, ...(cwd !== null && { cwd }), ...(model !== null && { model }) }
}

function isPolicyRefused(error: unknown, policy: string): boolean {
  return error instanceof Error && (error.message.includes(policy) || /approval.?policy/i.test(error.message))
}

function isUnknownThread(error: unknown): boolean {
  return error instanceof Error && /no rollout found|not found|does not exist/i.test(error.message)
}
