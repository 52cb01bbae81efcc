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

/** The thread of that id, or a new one. `isNew` tells a thread that was asked for and is not there any more. */
export async function openThread(
  peer: Peer,
  threadId: string | null,
  { cwd, model }: ThreadSettings,
): Promise<ThreadOpened & { isLost: boolean }> {
  const settings = { ...RULES, ...(cwd !== null && { cwd }), ...(model !== null && { model }) }
  if (threadId !== null) {
    const resumed = await peer
      .request<ThreadOpened>('thread/resume', { threadId, ...settings })
      .catch((error: unknown) => {
        if (isForgotten(error)) return null
        throw error
      })
    if (resumed) return { ...resumed, isLost: false }
  }
  const started = await peer.request<ThreadOpened>('thread/start', settings)
  return { ...started, isLost: threadId !== null }
}

function isForgotten(error: unknown): boolean {
  return error instanceof Error && /no rollout found|not found|does not exist/i.test(error.message)
}
