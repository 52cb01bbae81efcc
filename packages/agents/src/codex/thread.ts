import type { Peer } from '../program/peer.js'
import type { ThreadOpened } from './app-server.js'

export interface ThreadSettings {
  cwd: string | null
  model: string | null
}

/**
 * Askback decides what may run, so the program asks for all that is not known to be harmless; what was approved runs
 * inside the session's folder, with the network that scripts need to reach Askback.
 */
const RULES = { approvalPolicy: 'untrusted', approvalsReviewer: 'user', sandbox: 'workspace-write' }

/** The thread of that id, which may be running; `null` if it is not there any more. */
export async function resumeThread(
  peer: Peer,
  threadId: string,
  settings: ThreadSettings,
): Promise<ThreadOpened | null> {
  try {
    return await peer.request<ThreadOpened>('thread/resume', { threadId, ...given(settings) })
  } catch (error) {
    if (isForgotten(error)) return null
    throw error
  }
}

export function startThread(peer: Peer, settings: ThreadSettings): Promise<ThreadOpened> {
  return peer.request<ThreadOpened>('thread/start', given(settings))
}

function given({ cwd, model }: ThreadSettings): object {
  return { ...RULES, ...(cwd !== null && { cwd }), ...(model !== null && { model }) }
}

function isForgotten(error: unknown): boolean {
  return error instanceof Error && /no rollout found|not found|does not exist/i.test(error.message)
}
