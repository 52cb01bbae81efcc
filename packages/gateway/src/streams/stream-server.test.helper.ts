import { createDesk, createHost, memoryStore, type AgentContext, type Host, type Store } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import Fastify, { type FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { fail } from '../register-routes.js'
import { ManualClock } from './manual-clock.test.helper.js'
import { type Caller, type StreamConfig, registerStreams, type Streams } from './register.js'

export interface StreamServer {
  app: FastifyInstance
  host: Host
  store: Store
  streams: Streams
  clock: ManualClock
  port: number
  errors: unknown[]
  /** What the agent of a session was given to work with. */
  agents: Map<string, AgentContext>
}

const me = { id: 'me' }

/** A gateway with nothing but streams. Callers say in `x-caller` who they are; nothing said is a person. */
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
  app.setErrorHandler((error, request, reply) => fail(request, reply, error))
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

/** A session with so many messages behind its first event. */
export async function sessionWith({ host }: StreamServer, messages: number, id?: string): Promise<string> {
  const { session } = await host.desk.createSession({ agent: null, ...(id !== undefined && { id }) })
  await say(host, session.id, messages)
  return session.id
}

export async function say(host: Host, sessionId: string, messages: number): Promise<void> {
  for (let said = 0; said < messages; said++)
    await host.desk.message({ sessionId, text: `message ${said}`, by: me })
}

/** A question that waits in the session. */
export async function asked({ host }: StreamServer, sessionId: string): Promise<string> {
  const question = { header: 'Go', question: 'Go on?', options: [{ label: 'Yes' }], multiSelect: false }
  const { interaction } = await host.desk.open({
    sessionId,
    kind: 'question',
    request: { questions: [question] },
  })
  return interaction.interactionId
}

async function authorize({ headers }: IncomingMessage): Promise<Caller> {
  const said = headers['x-caller']
  if (headers.origin === 'http://evil.example')
    throw new AskbackError('forbidden', 'A page of another site may not call this.')
  if (said === 'nobody') throw new AskbackError('unauthorized', 'Who are you?')
  if (typeof said !== 'string')
    return {
      credential: 'me',
      key: 'me',
      person: { by: me, via: 'http' },
      mayRead: () => true,
      checkStillGood,
    }
  return {
    credential: said,
    key: said,
    person: null,
    mayRead: (sessionId) => said === `agent of ${sessionId}`,
    checkStillGood,
  }
}

/** Does what the test does with its context. */
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

const checkStillGood = () => Promise.resolve()
