import { AskbackError } from '@askback/protocol'
import type { FastifyReply } from 'fastify'
import { idempotencyKey } from '../http/idempotent.js'
import { SECURITY_HEADERS } from '../http/responses.js'
import { route, type ApiRoute, type GatewayContext } from '../route.js'
import type { AguiEvent } from './events.js'
import { runAgentInput, writeKey } from './input.js'
import { AguiRun } from './run.js'
import { sessionOfThread } from './thread.js'

/** A reader with more bytes waiting is disconnected. It can run again, and gets what has happened as a snapshot. */
const MAX_WAITING_BYTES = 1024 * 1024
const HEARTBEAT_MS = 15_000
/** A proxy that buffers would hold back the stream. */
const HEADERS = {
  ...SECURITY_HEADERS,
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

/** Sessions as agents of AG-UI: https://docs.ag-ui.com. Only people may run them, since a run sends messages and answers. */
export function aguiRoutes(context: GatewayContext): ApiRoute[] {
  const { host, clock, config } = context
  let open = 0
  return [
    route({
      name: 'runAgui',
      method: 'POST',
      path: '/api/agui',
      allowed: 'person',
      action: 'checked',
      summary:
        'Runs a session as an agent of AG-UI: sends a message or answers interrupts, and streams what happens until a person is needed',
      body: runAgentInput,
      responses: { 200: { description: 'Events of AG-UI', types: ['text/event-stream'] } },
      errors: [404, 429],
      async handle({ body, credential, access, host: bound, reply }) {
        const sessionId = await sessionOfThread(body, { host, bound, access, credential })
        await access?.check(sessionId, 'read')
        if (open >= config.limits.streams)
          throw new AskbackError('rate_limited', `There are ${open} runs open, which is the limit.`)
        const stream = new RunStream(reply, context, credential.key)
        const keyOf = (...parts: string[]) =>
          idempotencyKey(writeKey(sessionId, ...parts), 'agui', credential.id)
        const stopChecks = access ? stream.checkRegularly(() => access.check(sessionId, 'read')) : () => {}
        open += 1
        try {
          const { signal } = stream
          const send = (event: AguiEvent) => stream.send(event)
          await new AguiRun({ host, bound, access, clock, sessionId, input: body, keyOf, send, signal }).run()
        } finally {
          open -= 1
          stopChecks()
          stream.end()
        }
        return { handled: true }
      },
    }),
  ]
}

/** The response to a run, until the client disconnects, its credential is revoked, or the gateway drains. */
class RunStream {
  readonly #raw: FastifyReply['raw']
  readonly #context: GatewayContext
  readonly #ended = new AbortController()
  readonly #off: (() => void)[] = []
  #cancelHeartbeat = () => {}

  constructor(reply: FastifyReply, context: GatewayContext, key: string) {
    this.#raw = reply.raw
    this.#context = context
    const { drain, credentials } = context
    this.#off.push(
      drain.onStart(() => this.#drain()),
      credentials.onRevoked((revoked) => revoked === key && this.#disconnect()),
    )
    reply.hijack()
    this.#raw.once('close', () => this.#ended.abort())
    this.#raw.writeHead(200, HEADERS)
    this.#beat()
  }

  get signal(): AbortSignal {
    return this.#ended.signal
  }

  send(event: AguiEvent): void {
    if (this.#raw.writableEnded || this.#raw.destroyed) return
    // JSON has no line breaks, so it fits in one `data` field.
    this.#raw.write(`data: ${JSON.stringify(event)}\n\n`)
    if (this.#raw.writableLength > MAX_WAITING_BYTES) this.#disconnect()
  }

  /** Disconnects a caller who may no longer read the session. */
  checkRegularly(check: () => Promise<void>): () => void {
    const { clock } = this.#context
    let cancel = () => {}
    const checkLater = () => {
      cancel = clock.alarm(clock.now() + HEARTBEAT_MS, () => {
        check().then(checkLater, () => this.#disconnect())
      })
    }
    checkLater()
    return () => cancel()
  }

  end(): void {
    for (const off of this.#off) off()
    this.#cancelHeartbeat()
    if (!this.#raw.destroyed) this.#raw.end()
  }

  #beat(): void {
    const { clock } = this.#context
    this.#cancelHeartbeat = clock.alarm(clock.now() + HEARTBEAT_MS, () => {
      this.#raw.write(':\n\n')
      this.#beat()
    })
  }

  #drain(): void {
    this.send({
      type: 'RUN_ERROR',
      code: 'unavailable',
      message: 'The gateway is going away. Run again: nothing is lost.',
    })
    this.#ended.abort()
  }

  #disconnect(): void {
    this.#ended.abort()
    this.#raw.destroy()
  }
}
