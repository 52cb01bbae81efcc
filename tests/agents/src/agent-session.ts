import {
  createDesk,
  createHost,
  memoryStore,
  type AgentAdapter,
  type Clock,
  type Host,
  type InteractionKind,
  type Store,
} from '@askback/core'
import type { EventOf, Interaction, PermissionMode, SessionEvent } from '@askback/protocol'
import { afterAll, expect } from 'vitest'

export const me = { by: { id: 'me' }, via: 'direct' } as const

const openHosts = new Set<Host>()
/** Less than the time limit of a test. */
const MAX_SILENCE_MS = 80_000

// Closes what a failed test has left open.
afterAll(() => Promise.all([...openHosts].map((host) => host.close())))

/** A session of an earlier gateway, which the next one continues. */
export interface EarlierSession {
  store: Store
  sessionId: string
}

export interface AgentSessionOptions {
  adapter: AgentAdapter
  cwd: string
  mode?: PermissionMode
  before?: EarlierSession
  kinds?: InteractionKind[]
  /** The environment of the agent's shells. */
  shells?: Record<string, string>
  /** The clock of the host, by which idle agents are freed. */
  clock?: Clock
}

/** A session with one agent, on the desk and host of a gateway but without HTTP. */
export async function agentSession({
  adapter,
  cwd,
  mode,
  before,
  kinds = [],
  shells = {},
  clock,
}: AgentSessionOptions) {
  const store = before?.store ?? memoryStore()
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const env = () => Promise.resolve(shells)
  const desk = createDesk({ store, kinds, onError })
  const host: Host = createHost({ desk, agents: [adapter], env, ...(clock && { clock }), onError })
  openHosts.add(host)
  await host.ready
  const sessionId =
    before?.sessionId ?? (await host.createSession({ cwd, ...(mode && { permissionMode: mode }) })).session.id
  const events = () => store.read({ sessionId, limit: 1000 })
  const lastEvents = async () => JSON.stringify((await events()).slice(-10))

  /** Repeats `find` after every commit until it finds something. If it never does, the error shows the end of the log. */
  async function waitFor<T>(find: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      let off = () => {}
      let timer: NodeJS.Timeout | undefined
      const next = new Promise<'commit' | 'silence'>((resolve) => {
        off = host.desk.on(() => resolve('commit'))
        timer = setTimeout(() => resolve('silence'), MAX_SILENCE_MS)
      })
      const found = await find()
      const isSilent = found === undefined && (await next) === 'silence'
      off()
      clearTimeout(timer)
      if (isSilent) throw new Error(`Nothing was committed for too long. The log ends: ${await lastEvents()}`)
      if (errors.length > 0) throw errors[0]
      if (found !== undefined) return found
    }
  }

  return {
    host,
    close: async () => {
      await host.close()
      openHosts.delete(host)
    },
    store,
    sessionId,
    errors,
    events,
    lastEvents,
    say: (text: string) => host.as(me).message({ sessionId, text, route: 'agent' }),
    /** Waits for at least so many pending requests. */
    pending: (count = 1): Promise<Interaction[]> =>
      waitFor(async () => {
        const { interactions } = await host.desk.pending({ sessionId })
        return interactions.length >= count ? interactions : undefined
      }),
    answer: (item: Interaction, answer: unknown) =>
      host.desk.as(me).respond({ sessionId, interactionId: item.interactionId, answer }),
    /** Waits for so many events of this type. */
    until: <Type extends SessionEvent['type']>(type: Type, times = 1): Promise<EventOf<Type>[]> =>
      waitFor(async () => {
        const found = (await events()).filter((event): event is EventOf<Type> => event.type === type)
        return found.length >= times ? found : undefined
      }),
    /** The events of this type so far. */
    of: async <Type extends SessionEvent['type']>(type: Type): Promise<EventOf<Type>[]> =>
      (await events()).filter((event): event is EventOf<Type> => event.type === type),
    mode: async () => (await host.desk.snapshot(sessionId)).session.permissionMode,
  }
}

/** Sends a message that the model of every test answers, and expects that its turn ends well, as the last of so many. */
export async function sayHello(
  { say, until }: Pick<Awaited<ReturnType<typeof agentSession>>, 'say' | 'until'>,
  turns: number,
): Promise<void> {
  await say('say hello')
  expect((await until('turn_ended', turns)).at(-1)).toMatchObject({ reason: 'done' })
}
