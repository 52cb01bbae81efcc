import { eventTexts, type Fence } from '@askback/core'
import { AskbackError, interaction, openBody, respondBody, type Interaction } from '@askback/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { z } from 'zod'
import type { Credential } from '../credentials/credential.js'
import { fenceOf } from '../http/access.js'
import { checkGood, sourceIn } from '../http/authenticate.js'
import { LongPoll } from '../http/drain.js'
import { type GatewayContext, route, type Route } from '../route.js'
import {
  freshness,
  interactionAnswer,
  interactionParams,
  next,
  page,
  sessionParams,
  settledAnswer,
  waiting,
} from './schemas.js'

const LONGEST_ID = 500

export function interactionRoutes(context: GatewayContext): Route[] {
  const { desk } = context.host
  return [
    route({
      name: 'openInteraction',
      method: 'POST',
      path: '/api/sessions/:id/interactions',
      who: 'agent',
      summary: 'Asks a person; `wait` holds the answer back for that many seconds',
      params: sessionParams,
      query: waiting,
      body: openBody,
      parsedByDesk: true,
      answers: { 201: interactionAnswer, 200: interactionAnswer },
      errors: [404, 409],
      async handle({ params: { id }, query: { wait = 0 }, body, credential, origin, request, reply }) {
        const { kind: role, id: to } = credential
        const fence = fenceOf(context, credential)
        const { interaction: opened, created } = await desk.open({
          // One by one: added to a copy of the body, which has many shapes, each of the others would be a slow path.
          kind: body.kind,
          toolName: body.toolName,
          toolCallId: body.toolCallId,
          attach: body.attach,
          request: body.request,
          timeoutMs: body.timeoutMs,
          onTimeout: body.onTimeout,
          anchorTo: idIn(request, 'askback-tool-call'),
          agentThread: idIn(request, 'askback-agent-thread'),
          sessionId: id,
          rendezvous: true,
          role,
          openedBy: to,
          source: sourceIn(request.headers),
          claimAs: to,
          fence,
          idempotencyKey: origin.idempotencyKey,
        })
        const asked = { item: opened, to, wait, reply, fence }
        // What a rule has settled at once was claimed with it.
        const item = created && opened.status === 'settled' ? opened : await settlementOf(context, asked)
        const answer = { status: created ? 201 : 200, body: { interaction: item } }
        // What is pending stays in memory, and would keep its text there.
        return item.status === 'pending' ? answer : { ...answer, text: `{"interaction":${textOf(item)}}` }
      },
    }),
    route({
      name: 'readInteraction',
      method: 'GET',
      path: '/api/sessions/:id/interactions/:interactionId',
      who: 'agent',
      summary: 'An interaction as it stands, or, with `wait`, when it is settled',
      params: interactionParams,
      query: waiting.extend(freshness.shape),
      answers: { 200: interactionAnswer },
      errors: [404],
      async handle({ params: { id, interactionId }, query: { wait, fresh = true }, credential, reply }) {
        const item = await desk.interaction(id, interactionId, { fresh })
        const to = opened(item, credential) ? credential.id : null
        const read = { item, to, wait, reply, fence: fenceOf(context, credential) }
        return { status: 200, body: { interaction: await settlementOf(context, read) } }
      },
    }),
    route({
      name: 'findInteraction',
      method: 'GET',
      path: '/api/interactions/:interactionId',
      who: 'any_agent',
      summary: 'An interaction by its id alone, for whoever does not know its session; claims nothing',
      params: z.object({ interactionId: z.string() }),
      answers: { 200: interactionAnswer.extend({ yours: z.boolean() }) },
      errors: [404],
      async handle({ params: { interactionId }, credential }) {
        const found = await context.store.interaction(interactionId)
        if (!found) throw new AskbackError('not_found', `There is no interaction ${interactionId}.`)
        const { sessionId } = found
        await context.access.check('agent', credential, sessionId)
        const item = await desk.interaction(sessionId, interactionId)
        return { status: 200, body: { interaction: item, yours: opened(item, credential) } }
      },
    }),
    route({
      name: 'respond',
      method: 'POST',
      path: '/api/sessions/:id/interactions/:interactionId/response',
      who: 'person',
      summary: 'Answers; the first answer settles it, every later one is told who won',
      params: interactionParams,
      body: respondBody,
      parsedByDesk: true,
      answers: { 200: settledAnswer },
      errors: [404, 409],
      async handle({ params: { id, interactionId }, body: { answer, digest, toolCallId }, origin }) {
        const settled = await desk.respond({
          by: origin.by,
          via: origin.via,
          idempotencyKey: origin.idempotencyKey,
          sessionId: id,
          interactionId,
          answer,
          digest,
          toolCallId,
        })
        const { interaction: item, events } = settled
        // As they went to the store and to everyone who looks on.
        const text = `{"interaction":${textOf(item)},"events":[${eventTexts(events).join(',')}]}`
        return { status: 200, body: settled, text }
      },
    }),
    route({
      name: 'progress',
      method: 'POST',
      path: '/api/sessions/:id/interactions/:interactionId/progress',
      who: 'person',
      summary: 'Keeps the answers to the first questions, on a surface that asks one at a time',
      params: interactionParams,
      body: z.object({ answers: z.array(z.unknown()) }),
      answers: { 200: interactionAnswer },
      errors: [404, 409],
      async handle({ params: { id, interactionId }, body: { answers }, origin: { idempotencyKey } }) {
        const item = await desk.progress({ sessionId: id, interactionId, answers, idempotencyKey })
        return { status: 200, body: { interaction: item } }
      },
    }),
    route({
      name: 'cancelInteraction',
      method: 'DELETE',
      path: '/api/sessions/:id/interactions/:interactionId',
      who: 'agent',
      summary: 'Cancels; an agent only what it has opened',
      params: interactionParams,
      answers: { 200: settledAnswer },
      errors: [404, 409],
      async handle({ params: { id, interactionId }, credential, origin }) {
        if (credential.kind === 'agent' && !opened(await desk.interaction(id, interactionId), credential)) {
          throw new AskbackError('forbidden', 'An agent may cancel only what it has opened.')
        }
        return { status: 200, body: await desk.cancel({ ...origin, sessionId: id, interactionId }) }
      },
    }),
    route({
      name: 'inbox',
      method: 'GET',
      path: '/api/interactions',
      who: 'person',
      summary: 'What waits for a person, in all sessions, oldest first',
      query: page.extend({ status: z.literal('pending').optional() }),
      answers: {
        200: z.object({
          interactions: z.array(interaction),
          next,
          total: z.int(),
          perSession: z.record(z.string(), z.int()),
        }),
      },
      async handle({ query: { after, limit } }) {
        const body = await desk.inbox({
          ...(after !== undefined && { after }),
          ...(limit !== undefined && { limit }),
        })
        const { interactions, next: following, total, perSession } = body
        const rest = JSON.stringify({ next: following, total }).slice(1, -1)
        const text = `{"interactions":${JSON.stringify(interactions)},${rest},"perSession":${textOf(perSession)}}`
        return { status: 200, body, text }
      },
    }),
  ]
}

const texts = new WeakMap<object, string>()

/**
 * As JSON, made once for all who are told the same: whoever answers and whoever asked get one settlement, and the counts of
 * the inbox stay the same object until something changes.
 */
function textOf(value: Interaction | Readonly<Record<string, number>>): string {
  const known = texts.get(value)
  if (known !== undefined) return known
  const text = JSON.stringify(value)
  texts.set(value, text)
  return text
}

/** As it stands or, within the wait, settled. Whoever acts on a settlement (`to`) claims it with this answer (L10). */
async function settlementOf(
  { host: { desk }, drain, credentials }: GatewayContext,
  {
    item,
    to,
    wait,
    reply,
    fence,
  }: {
    item: Interaction
    to: string | null
    /** Without it this very one is read. */
    wait: number | undefined
    reply: FastifyReply
    fence: Fence | undefined
  },
): Promise<Interaction> {
  // One that was superseded may go on as another (L6).
  const mayChange = item.settlement === 'superseded' || (item.status === 'pending' && wait !== 0)
  if (wait === undefined || !mayChange)
    return to === null
      ? item
      : desk.wait(item.interactionId, { sessionId: item.sessionId, claimAs: to, until: 'now', fence })
  const { credential } = reply.request
  const onRevoked = (revoked: () => void) =>
    credential?.kind === 'person'
      ? credentials.onRevoked((key) => key === credential.key && revoked())
      : () => undefined
  const signal = new LongPoll(reply, drain, { seconds: wait, onRevoked })
  try {
    const found = await desk.wait(item.interactionId, {
      sessionId: item.sessionId,
      claimAs: to,
      until: signal,
      fence,
    })
    checkGood(!signal.isRevoked && (!credential || credentials.isCurrent(credential)))
    return found
  } finally {
    signal.done()
  }
}

function opened(item: Interaction, credential: Credential): boolean {
  return item.openedBy === credential.id
}

/** What the environment of a script inside an agent's shell says of where it runs. */
function idIn({ headers }: FastifyRequest, name: string): string | undefined {
  const header = headers[name]
  if (header === undefined || header === '') return undefined
  const id = typeof header === 'string' ? utf8In(header) : null
  if (id !== null && id.length <= LONGEST_ID) return id
  throw new AskbackError('invalid_request', `An id in a header is at most ${LONGEST_ID} characters of UTF-8.`)
}

/** Node.js makes one character of each byte of a header. */
function utf8In(header: string): string | null {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : null
}
