import type { BoundDesk } from '@askback/core'
import { eventTexts } from '@askback/core/internal'
import {
  AskbackError,
  interaction,
  kindDescription,
  kindPromptResult,
  openBody,
  respondBody,
  type Interaction,
  type KindDescription,
} from '@askback/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import * as z from 'zod'
import { readablePage, type CallAccess } from '../access/call-access.js'
import type { Credential } from '../credentials/credential.js'
import { checkNotRevoked, readSource } from '../http/authenticate.js'
import { LongPoll } from '../http/drain.js'
import { type GatewayContext, route, type ApiRoute } from '../route.js'
import { rendererPath } from './renderers.js'
import {
  claiming,
  freshness,
  interactionBody,
  interactionParams,
  next,
  page,
  sessionParams,
  settledBody,
  waiting,
} from './schemas.js'

const MAX_ID_LENGTH = 500

export function interactionRoutes(context: GatewayContext): ApiRoute[] {
  const { desk } = context.host
  return [
    route({
      name: 'openInteraction',
      method: 'POST',
      path: '/api/sessions/:id/interactions',
      allowed: 'agent',
      action: 'ask',
      summary:
        'Opens an interaction; with `wait` the response waits up to that many seconds for the settlement',
      params: sessionParams,
      query: waiting.extend(claiming.shape),
      headers: ['Source', 'ToolCall', 'AgentThread'],
      body: openBody,
      parsedByDesk: true,
      responses: { 201: interactionBody, 200: interactionBody },
      errors: [404, 409],
      async handle({ params: { id }, query, body, access, host, idempotencyKey, request, reply }) {
        const { desk: bound } = host
        const { wait = 0, claim = true } = query
        const { interaction: opened, created } = await bound.open({
          // Listed one by one, because objects with always the same fields are faster in V8 than a spread of the body.
          kind: body.kind,
          toolName: body.toolName,
          toolCallId: body.toolCallId,
          attach: body.attach,
          request: body.request,
          timeoutMs: body.timeoutMs,
          onTimeout: body.onTimeout,
          anchorTo: readIdHeader(request, 'askback-tool-call'),
          agentThread: readIdHeader(request, 'askback-agent-thread'),
          sessionId: id,
          rendezvous: true,
          source: readSource(request.headers),
          claim,
          idempotencyKey,
        })
        const read = { desk: bound, item: opened, claim, wait, reply }
        // The desk has already claimed what a rule settled at once, if that was wanted.
        const item = created && opened.status === 'settled' ? opened : await readSettlement(context, read)
        if (wait > 0) await access?.check(id, 'ask')
        const response = { status: created ? 201 : 200, body: { interaction: item } }
        // The JSON of a pending interaction is not cached: it would use memory for as long as the interaction is pending.
        return item.status === 'pending'
          ? response
          : { ...response, text: `{"interaction":${cachedJson(item)}}` }
      },
    }),
    route({
      name: 'readInteraction',
      method: 'GET',
      path: '/api/sessions/:id/interactions/:interactionId',
      allowed: 'agent',
      action: 'read',
      summary: 'Returns an interaction, with `wait` as soon as it is settled',
      params: interactionParams,
      query: waiting.extend(freshness.shape).extend(claiming.shape),
      responses: { 200: interactionBody },
      errors: [404],
      async handle({ params: { id, interactionId }, query, credential, access, host, reply }) {
        const { wait, fresh = true, claim = true } = query
        const item = await desk.interaction(id, interactionId, { fresh })
        const mayClaim = claim && isOpenedBy(item, credential)
        const read = { desk: host.desk, item, claim: mayClaim, wait, reply }
        const settled = await readSettlement(context, read)
        // `authorize` may have changed its mind while the caller waited.
        if (wait !== undefined && wait > 0) await access?.check(id, 'read')
        return { status: 200, body: { interaction: settled } }
      },
    }),
    route({
      name: 'readPrompt',
      method: 'GET',
      path: '/api/sessions/:id/interactions/:interactionId/prompt',
      allowed: 'agent',
      action: 'read',
      summary:
        'Returns the form for an interaction of a custom kind, for surfaces without a renderer, or why it cannot be answered',
      params: interactionParams,
      responses: { 200: kindPromptResult },
      errors: [404],
      async handle({ params: { id, interactionId } }) {
        return { status: 200, body: await desk.prompt(id, interactionId) }
      },
    }),
    route({
      name: 'listKinds',
      method: 'GET',
      path: '/api/kinds',
      allowed: 'any_agent',
      action: 'harmless',
      summary:
        'Lists the kinds that can be asked here in addition to the built-in ones, with their JSON Schemas',
      responses: { 200: z.object({ kinds: z.array(kindDescription) }) },
      handle: () => ({ status: 200, body: { kinds: drawnKinds(context) } }),
    }),
    route({
      name: 'findInteraction',
      method: 'GET',
      path: '/api/interactions/:interactionId',
      allowed: 'any_agent',
      action: 'checked',
      summary:
        'Returns an interaction by its id, for callers that do not know its session; does not claim it',
      params: z.object({ interactionId: z.string() }),
      responses: { 200: interactionBody.extend({ yours: z.boolean() }) },
      errors: [404],
      async handle({ params: { interactionId }, credential, access }) {
        const found = await context.store.interaction(interactionId)
        const item = found && (await desk.interaction(found.sessionId, interactionId))
        const isReadable = item && (!access || (await access.mayRead(item.sessionId)))
        if (!isReadable) throw new AskbackError('not_found', `There is no interaction ${interactionId}.`)
        await context.access.check('agent', credential, item.sessionId)
        return { status: 200, body: { interaction: item, yours: isOpenedBy(item, credential) } }
      },
    }),
    route({
      name: 'respond',
      method: 'POST',
      path: '/api/sessions/:id/interactions/:interactionId/response',
      allowed: 'person',
      action: 'answer',
      summary:
        'Answers an interaction; the first answer settles it, later ones get that settlement as an error',
      params: interactionParams,
      body: respondBody,
      parsedByDesk: true,
      responses: { 200: settledBody },
      errors: [404, 409],
      async handle({ params: { id, interactionId }, body, access, host, idempotencyKey }) {
        const { answer, digest, toolCallId } = body
        await access?.checkScope(scopeOf(answer))
        const settled = await host.desk.respond({
          idempotencyKey,
          sessionId: id,
          interactionId,
          answer,
          digest,
          toolCallId,
        })
        const { interaction: item, events } = settled
        // The same JSON as in the store and on the streams.
        const text = `{"interaction":${cachedJson(item)},"events":[${eventTexts(events).join(',')}]}`
        return { status: 200, body: settled, text }
      },
    }),
    route({
      name: 'saveProgress',
      keyScope: 'progress',
      method: 'POST',
      path: '/api/sessions/:id/interactions/:interactionId/progress',
      allowed: 'person',
      action: 'answer',
      summary: 'Stores the answers so far, for surfaces that show one question at a time',
      params: interactionParams,
      body: z.object({ answers: z.array(z.unknown()) }),
      responses: { 200: interactionBody },
      errors: [404, 409],
      async handle({ params: { id, interactionId }, body: { answers }, host, idempotencyKey }) {
        const item = await host.desk.progress({ sessionId: id, interactionId, answers, idempotencyKey })
        return { status: 200, body: { interaction: item } }
      },
    }),
    route({
      name: 'cancelInteraction',
      method: 'DELETE',
      path: '/api/sessions/:id/interactions/:interactionId',
      allowed: 'agent',
      action: 'checked',
      summary: 'Cancels an interaction; an agent can cancel only its own',
      params: interactionParams,
      responses: { 200: settledBody },
      errors: [404, 409],
      async handle({ params: { id, interactionId }, credential, access, host, idempotencyKey }) {
        await access?.check(id, credential.kind === 'agent' ? 'ask' : 'answer')
        if (
          credential.kind === 'agent' &&
          !isOpenedBy(await desk.interaction(id, interactionId), credential)
        ) {
          throw new AskbackError('forbidden', 'An agent may cancel only what it has opened.')
        }
        const settled = await host.desk.cancel({ idempotencyKey, sessionId: id, interactionId })
        return { status: 200, body: settled }
      },
    }),
    route({
      name: 'listPendingInteractions',
      method: 'GET',
      path: '/api/interactions',
      allowed: 'person',
      action: 'filtered',
      summary: 'Lists the pending interactions of all sessions, oldest first',
      query: page.extend({ status: z.literal('pending').optional() }),
      responses: {
        200: z.object({
          interactions: z.array(interaction),
          next,
          total: z.int(),
          perSession: z.record(z.string(), z.int()),
        }),
      },
      async handle({ query: { after, limit }, access }) {
        if (access) return { status: 200, body: await readableInbox(desk, access, { after, limit }) }
        const body = await desk.inbox({
          ...(after !== undefined && { after }),
          ...(limit !== undefined && { limit }),
        })
        const { interactions, next: following, total, perSession } = body
        const rest = JSON.stringify({ next: following, total }).slice(1, -1)
        const text = `{"interactions":${JSON.stringify(interactions)},${rest},"perSession":${cachedJson(perSession)}}`
        return { status: 200, body, text }
      },
    }),
  ]
}

/** The kinds of the embedder, with the addresses of the modules that draw them. */
function drawnKinds({ host, renderers }: GatewayContext): KindDescription[] {
  return host.desk.customKinds().map((kind) => {
    const renderer = rendererPath(renderers, kind.kind)
    return { ...kind, ...(renderer !== undefined && { renderer }) }
  })
}

/** What the caller may read of the inbox. The counts are those of the sessions that they may read. */
async function readableInbox(
  desk: BoundDesk,
  access: CallAccess,
  { after, limit = 100 }: { after?: string | undefined; limit?: number | undefined },
): ReturnType<BoundDesk['inbox']> {
  const page = await readablePage(
    { after, limit },
    async (query) => {
      const { interactions, next: following } = await desk.pending(query)
      return { items: interactions, next: following }
    },
    (items) => access.readable(items, ({ sessionId }) => sessionId),
  )
  const counts = Object.entries((await desk.inbox({ limit: 1 })).perSession)
  const readable = await access.readable(counts, ([sessionId]) => sessionId)
  const total = readable.reduce((sum, [, count]) => sum + count, 0)
  return {
    interactions: page.items,
    next: page.next,
    total,
    perSession: Object.fromEntries(readable),
  }
}

/** The scope that an answer to an approval asks for. The desk checks the rest of the answer. */
export function scopeOf(answer: unknown): unknown {
  return typeof answer === 'object' && answer !== null && 'scope' in answer ? answer.scope : undefined
}

const jsonCache = new WeakMap<object, string>()

/**
 * The value as JSON, serialized once. The person who answers and the agent that waits get the same settlement object, and the counts of
 * the inbox stay the same object until something changes.
 */
function cachedJson(value: Interaction | Readonly<Record<string, number>>): string {
  const known = jsonCache.get(value)
  if (known !== undefined) return known
  const text = JSON.stringify(value)
  jsonCache.set(value, text)
  return text
}

/**
 * The interaction as it is or, if it is settled within the wait, its settlement. With `claim` the caller acts on the settlement, and
 * this response claims it for the caller (L10: a settlement is claimed once).
 */
async function readSettlement(
  { drain, credentials }: GatewayContext,
  {
    desk,
    item,
    claim,
    wait,
    reply,
  }: {
    desk: BoundDesk
    item: Interaction
    claim: boolean
    /** In seconds. Without it this interaction is read, and not the one that superseded it. */
    wait: number | undefined
    reply: FastifyReply
  },
): Promise<Interaction> {
  // A superseded interaction may continue as another one (L6), which the desk follows.
  const mayChange = item.settlement === 'superseded' || (item.status === 'pending' && wait !== 0)
  if (wait === undefined || !mayChange)
    return claim ? desk.wait(item.interactionId, { sessionId: item.sessionId, until: 'now' }) : item
  const { credential } = reply.request
  const onRevoked = (revoked: () => void) =>
    credential && (credential.kind === 'person' || credential.external)
      ? credentials.onRevoked((key) => key === credential.key && revoked())
      : () => undefined
  const signal = new LongPoll(reply, drain, { seconds: wait, onRevoked })
  try {
    const { sessionId, interactionId } = item
    const found = await desk.wait(interactionId, { sessionId, claim, until: signal })
    checkNotRevoked(!signal.isRevoked && (!credential || credentials.isCurrent(credential)))
    return found
  } finally {
    signal.done()
  }
}

function isOpenedBy(item: Interaction, credential: Credential): boolean {
  return item.openedBy === credential.id
}

/** An id that the environment of a script in an agent's shell provides, such as that of the tool call that runs it. */
function readIdHeader({ headers }: FastifyRequest, name: string): string | undefined {
  const header = headers[name]
  if (header === undefined || header === '') return undefined
  const id = typeof header === 'string' ? decodeUtf8(header) : null
  if (id !== null && id.length <= MAX_ID_LENGTH) return id
  throw new AskbackError(
    'invalid_request',
    `An id in a header is at most ${MAX_ID_LENGTH} characters of UTF-8.`,
  )
}

/** Node.js decodes headers as Latin-1; ids are UTF-8. */
function decodeUtf8(header: string): string | null {
  const bytes = Buffer.from(header, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : null
}
