import { createDesk, createHost, memoryStore, type AgentAdapter, type Host, type Store } from '@askback/core'
import type { EventOf, Interaction, PermissionMode, SessionEvent } from '@askback/protocol'
import { afterAll } from 'vitest'

export const me = { by: { id: 'me' }, via: 'direct' } as const

const open = new Set<Host>()
/** Less than a test has. */
const PATIENCE_MS = 80_000

// What a test that failed has left.
afterAll(() => Promise.all([...open].map((host) => host.close())))

export interface Before {
  store: Store
  sessionId: string
}

export interface AgentSessionOptions {
  adapter: AgentAdapter
  cwd: string
  mode?: PermissionMode
  /** A session that an earlier gateway had. */
  before?: Before
  /** What the agent's shells find in their environment. */
  shells?: Record<string, string>
}

/** A gateway's inside with one agent in it. */
export async function agentSession({ adapter, cwd, mode, before, shells = {} }: AgentSessionOptions) {
  const store = before?.store ?? memoryStore()
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const env = () => Promise.resolve(shells)
  const host: Host = createHost({ desk: createDesk({ store, onError }), agents: [adapter], env, onError })
  open.add(host)
  await host.ready
  const sessionId =
    before?.sessionId ?? (await host.createSession({ cwd, ...(mode && { permissionMode: mode }) })).session.id
  const events = () => store.read({ sessionId, limit: 1000 })
  const told = async () => JSON.stringify((await events()).slice(-10))

  /** Looks after every commit until it finds something. What never comes is told with the log, which a timeout would not show. */
  async function when<T>(look: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      let off = () => {}
      let timer: NodeJS.Timeout | undefined
      const heard = new Promise<'news' | 'silence'>((resolve) => {
        off = host.desk.on(() => resolve('news'))
        timer = setTimeout(() => resolve('silence'), PATIENCE_MS)
      })
      const found = await look()
      const silent = found === undefined && (await heard) === 'silence'
      off()
      clearTimeout(timer)
      if (silent) throw new Error(`Nothing has come for long. The log ends: ${await told()}`)
      if (errors.length > 0) throw errors[0]
      if (found !== undefined) return found
    }
  }

  return {
    host,
    close: async () => {
      await host.close()
      open.delete(host)
    },
    store,
    sessionId,
    errors,
    events,
    told,
    say: (text: string) => host.message({ sessionId, text, ...me, route: 'agent' }),
    /** That many requests that wait for a person. */
    pending: (count = 1): Promise<Interaction[]> =>
      when(async () => {
        const { interactions } = await host.desk.pending({ sessionId })
        return interactions.length >= count ? interactions : undefined
      }),
    answer: (item: Interaction, answer: unknown) =>
      host.desk.respond({ ...me, sessionId, interactionId: item.interactionId, answer }),
    until: <Type extends SessionEvent['type']>(type: Type, times = 1): Promise<EventOf<Type>[]> =>
      when(async () => {
        const found = (await events()).filter((event): event is EventOf<Type> => event.type === type)
        return found.length >= times ? found : undefined
      }),
    of: async <Type extends SessionEvent['type']>(type: Type): Promise<EventOf<Type>[]> =>
      (await events()).filter((event): event is EventOf<Type> => event.type === type),
    mode: async () => (await host.desk.snapshot(sessionId)).session.permissionMode,
  }
}
