import { AskbackError, type Interaction } from '@askback/protocol'
import type { Host } from '../agents/host.js'
import type { Store } from '../store/store.js'
import type { ConnectorDesk } from './connector.js'

/** The desk of this process. */
export function connectorDesk(host: Host, store: Store): ConnectorDesk {
  const { desk } = host
  return {
    kv: store.kv,
    head: () => store.head(),
    changes: (query) => store.changes(query),
    onAppend: (listener) => store.onAppend(listener),
    async pending() {
      const all: Interaction[] = []
      let after: string | undefined
      do {
        const page = await desk.pending({ limit: 500, ...(after !== undefined && { after }) })
        all.push(...page.interactions)
        after = page.next ?? undefined
      } while (after !== undefined)
      return all
    },
    interaction: (sessionId, interactionId) => desk.interaction(sessionId, interactionId),
    respond: (input) => desk.respond(input),
    progress: (input) => desk.progress(input),
    message: (input) => host.message(input),
    async session(sessionId) {
      try {
        return (await desk.snapshot(sessionId)).session
      } catch (error) {
        if (error instanceof AskbackError && error.code === 'not_found') return null
        throw error
      }
    },
    sessions: async (limit) => (await desk.sessions({ limit })).items,
    createSession: async (body) => (await host.createSession(body)).session,
    interrupt: (sessionId, origin) => host.interrupt(sessionId, origin),
    clear: (sessionId, origin) => host.clear(sessionId, origin),
    setPermissionMode: (sessionId, mode, origin) => host.setPermissionMode(sessionId, mode, origin),
  }
}
