import { AskbackError } from '@askback/protocol'
import type { Peer } from '../program/peer.js'
import type { ThreadOpened } from './app-server.js'

export interface ThreadSettings {
  cwd: string | null
  model: string | null
}

/** Askback decides what may run; what was approved still runs in the sandbox. */
const RULES = { approvalsReviewer: 'user', sandbox: 'workspace-write' }

/**
 * The first makes Codex ask about everything that is not known to be harmless. A version or an administrator's settings may
 * refuse it: with the second it asks only to leave its sandbox.
 */
const POLICIES = ['untrusted', 'on-request']

/** The thread of that id, which may be running; `null` if it is not there any more. */
export async function resumeThread(
  peer: Peer,
  threadId: string,
  settings: ThreadSettings,
): Promise<ThreadOpened | null> {
  try {
    return await open(peer, 'thread/resume', { threadId, ...given(settings) })
  } catch (error) {
    if (isForgotten(error)) return null
    throw error
  }
}

export function startThread(peer: Peer, settings: ThreadSettings): Promise<ThreadOpened> {
  return open(peer, 'thread/start', given(settings))
}

/** What a person must know of a thread that does not leave every decision to them; `null` if it does. */
export function whoDecides({ approvalPolicy, approvalsReviewer }: ThreadOpened): string | null {
  if (approvalsReviewer !== undefined && approvalsReviewer !== 'user')
    return 'Codex decides by itself: a model approves what it does, not you. Its own settings say so.'
  // An older program does not tell.
  if (approvalPolicy === undefined || approvalPolicy === 'untrusted') return null
  const policy =
    typeof approvalPolicy === 'string' ? approvalPolicy : (Object.keys(approvalPolicy)[0] ?? 'unknown')
  if (policy === 'never')
    return 'Codex decides by itself: its approval policy is “never” here, so it asks nobody. Only its sandbox limits it.'
  return `Codex decides by itself what to run inside its sandbox: its approval policy is “${policy}” here, so it asks you only to leave the sandbox.`
}

/** With the strictest policy that this Codex takes. */
async function open(peer: Peer, method: string, params: object): Promise<ThreadOpened> {
  for (const approvalPolicy of POLICIES) {
    try {
      return await peer.request<ThreadOpened>(method, { ...params, approvalPolicy })
    } catch (error) {
      if (!isPolicyRefused(error, approvalPolicy)) throw error
    }
  }
  const those = POLICIES.map((policy) => `“${policy}”`).join(' and ')
  throw new AskbackError(
    'unavailable',
    `This Codex cannot ask for approval: it takes neither of the policies ${those}.`,
  )
}

function given({ cwd, model }: ThreadSettings): object {
  return { ...RULES, ...(cwd !== null && { cwd }), ...(model !== null && { model }) }
}

function isPolicyRefused(error: unknown, policy: string): boolean {
  return error instanceof Error && (error.message.includes(policy) || /approval.?policy/i.test(error.message))
}

function isForgotten(error: unknown): boolean {
  return error instanceof Error && /no rollout found|not found|does not exist/i.test(error.message)
}
