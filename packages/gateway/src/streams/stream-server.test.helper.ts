import { createDesk, createHost, memoryStore, type AgentContext, type Host, type Store } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import Fastify, { type FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { sendFailure } from '../register-routes.js'
import { ManualClock } from './manual-clock.test.helper.js'
import { type StreamCaller, type StreamConfig, registerStreams, type GatewayStreams } from './register.js'

export interface StreamServer {
  app: FastifyInstance
  host: Host
  store: Store
  streams: GatewayStreams
  clock: ManualClock
  port: number
  errors: unknown[]
  /** The context that the agent of each session got. */
  agents: Map<string, AgentContext>
}

const me = { id: 'me' }

/** A server with only the streams. The header `x-caller` names the caller; without it the caller is a person. */
export async function streamServer(
  options: { config?: Partial<StreamConfig>; store?: Store } = {},
): Promise<StreamServer> {
  const { store = memoryStore(), config = {} } = options
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const agents = new Map<string, AgentContext>()
  const desk = createDesk({ store, onError })
  const host = createHost({ desk, agents: [puppet(agents)], onError })
  const clock = new ManualClock()
  const app = Fastify()
  app.setErrorHandler((error, request, reply) => sendFailure(request, reply, error))
  const authorize = authorizeBy(host)
  const authorizeSocket = async (request: IncomingMessage) => ({ caller: await authorize(request) })
  const ports = { host, store, config, clock, authorize, authorizeSocket, onError }
  const streams = registerStreams(app, { ...ports, random: () => 0.5 })
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(async () => {
    app.server.closeAllConnections()
    await streams.drain(0).catch(() => undefined)
    await app.close()
    await host.close()
  })
  const { port } = app.server.address() as AddressInfo
  return { app, host, store, streams, clock, port, errors, agents }
}

/** Creates a session with this many messages after its first event. */
export async function sessionWith({ host }: StreamServer, messages: number, id?: string): Promise<string> {
  const { session } = await host.desk.createSession({ agent: null, ...(id !== undefined && { id }) })
  await say(host, session.id, messages)
  return session.id
}

export async function say(host: Host, sessionId: string, messages: number): Promise<void> {
  for (let said = 0; said < messages; said++)
    await host.desk.as({ by: me }).message({ sessionId, text: `message ${said}` })
}

/** Opens a question in the session. */
export async function openQuestion({ host }: StreamServer, sessionId: string): Promise<string> {
  const question = { header: 'Go', question: 'Go on?', options: [{ label: 'Yes' }], multiSelect: false }
  const { interaction } = await host.desk.open({
    sessionId,
    kind: 'question',
    request: { questions: [question] },
  })
  return interaction.interactionId
}

function authorizeBy({ desk }: Host) {
  const person = desk.as({ by: me, via: 'http' })
  return async ({ headers }: IncomingMessage): Promise<StreamCaller> => {
    const caller = headers['x-caller']
    if (headers.origin === 'http://evil.example')
      throw new AskbackError('forbidden', 'A page of another site may not call this.')
    if (caller === 'nobody') throw new AskbackError('unauthorized', 'Who are you?')
    if (typeof caller !== 'string')
      return { credential: 'me', key: 'me', person, guard: null, mayRead: () => true, checkNotRevoked }
    return {
      credential: caller,
      key: caller,
      person: null,
      guard: null,
      mayRead: (sessionId) => caller === `agent of ${sessionId}`,
      checkNotRevoked,
    }
  }
}

/** An agent that does nothing by itself: the test uses its context. */
function puppet(contexts: Map<string, AgentContext>) {
  return {
    id: 'puppet',
    name: 'Puppet',
    check: async () => ({ available: true }) as const,
    async start(context: AgentContext) {
      contexts.set(context.sessionId, context)
      return {
        send: async () => undefined,
        interrupt: async () => undefined,
        setPermissionMode: async () => undefined,
        stop: async () => undefined,
        ended: new Promise<never>(() => undefined),
      }
    },
  }
}

const checkNotRevoked = () => Promise.resolve()
