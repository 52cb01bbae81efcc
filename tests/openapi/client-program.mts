// Compiled by `generated-client.test.ts` against the types that a generator made from a live document.
import createClient from 'openapi-fetch'
import type { components, paths } from './schema.js'

type Schemas = components['schemas']
type Opened = Schemas['OpenInteractionBody']

export async function useGateway(options: { baseUrl: string; token: string; fetch?: typeof fetch }) {
  const { token, ...rest } = options
  const client = createClient<paths>({ ...rest, headers: { authorization: `Bearer ${token}` } })
  const created = await client.POST('/api/sessions', { body: { agent: null, title: 'Generated' } })
  const { id } = some(created.data).session

  /** With a tool call, because the gateway would look for one for a second. */
  async function ask(asked: Opened, answer: Schemas['Answer']): Promise<Schemas['Interaction']> {
    const body = { ...asked, toolCallId: `call-${asked.kind}` }
    const header = { 'Idempotency-Key': `ask-${body.kind}`, 'Askback-Source': 'cli' } as const
    const opened = await client.POST('/api/sessions/{id}/interactions', {
      params: { path: { id }, header },
      body,
    })
    const { interactionId, digest } = some(opened.data).interaction
    const path = { id, interactionId }
    const waiting = client.GET('/api/sessions/{id}/interactions/{interactionId}', {
      params: { path, query: { wait: 20 } },
    })
    const respond = () =>
      client.POST('/api/sessions/{id}/interactions/{interactionId}/response', {
        params: { path, header: { 'Askback-Surface': 'terminal' } },
        body: { answer, digest },
      })
    const first = await respond()
    if (!first.data) throw new Error(first.error.error.message)
    const second = await respond()
    const error = some(second.error).error
    if (error.code !== 'already_settled') throw new Error(`It was settled twice: ${error.code}`)
    return some((await waiting).data).interaction
  }

  const question = await ask(
    {
      kind: 'question',
      request: { questions: [{ question: 'Which one?', options: [{ label: 'one' }, { label: 'two' }] }] },
    },
    { answers: [{ selected: ['two'] }] },
  )
  const approval = await ask(
    { kind: 'approval', toolName: 'Bash', request: { input: { command: 'ls' } }, timeoutMs: 60_000 },
    { decision: 'deny', message: 'no' },
  )
  const plan = await ask({ kind: 'plan_review', request: { plan: '# Plan' } }, { decision: 'edit' })
  const form = await ask(
    {
      kind: 'form',
      request: { message: 'Where?', schema: { fields: [{ name: 'port', type: 'number' }] } },
      onTimeout: { answer: { values: { port: 1 } } },
    },
    { values: { port: 8080 } },
  )
  const slot = await ask({ kind: 'time_slot', request: { days: ['Mon', 'Tue'] } }, { day: 'Tue' })

  const cancelled = await client.POST('/api/sessions/{id}/interactions', {
    params: { path: { id } },
    body: { kind: 'plan_review', toolCallId: 'another', request: { plan: '# Another' } },
  })
  const listed = await client.GET('/api/interactions', { params: { query: { limit: 10 } } })
  const { interactionId } = some(cancelled.data).interaction
  await client.DELETE('/api/sessions/{id}/interactions/{interactionId}', {
    params: { path: { id, interactionId } },
  })

  const page = await client.GET('/api/sessions/{id}/events', {
    params: { path: { id }, query: { limit: 1000 } },
    headers: { accept: 'application/json' },
  })
  const stop = new AbortController()
  const stream = await client.GET('/api/sessions/{id}/events', {
    params: { path: { id }, header: { 'Last-Event-ID': '0' } },
    headers: { accept: 'text/event-stream' },
    parseAs: 'stream',
    signal: stop.signal,
  })
  const firstStreamed = await firstEvent(some(stream.data))
  stop.abort()
  return {
    outcomes: [question, approval, plan, form, slot].map(describe),
    pending: some(listed.data).interactions.map((each) => each.kind),
    responses: eventsIn(page.data).flatMap((event) =>
      event.type === 'interaction_response' ? [`${event.kind} ${event.settlement}`] : [],
    ),
    firstStreamed,
  }
}

/** Compiles only if `kind`, `status` and `settlement` tell which fields there are. */
function describe(interaction: Schemas['Interaction']): string {
  if (interaction.status === 'pending') return 'pending'
  switch (interaction.kind) {
    case 'question':
      return interaction.settlement === 'answered'
        ? `${interaction.request.questions[0]?.question} ${interaction.answer.answers[0]?.selected.join()}`
        : interaction.settlement
    case 'approval':
      return interaction.settlement === 'denied'
        ? `${interaction.answer.decision} ${interaction.message}`
        : interaction.settlement
    case 'plan_review':
      return interaction.settlement === 'approved' ? interaction.answer.decision : interaction.settlement
    case 'form':
      return interaction.settlement === 'answered'
        ? JSON.stringify(interaction.answer.values)
        : interaction.settlement
    case 'time_slot':
      return interaction.settlement === 'answered' ? interaction.answer.day : interaction.settlement
  }
}

/** What does not fit does not compile. */
export const refused: Opened[] = [
  // @ts-expect-error -- there is no such kind
  { kind: 'riddle', request: {} },
  // @ts-expect-error -- a plan is a text
  { kind: 'plan_review', request: { plan: 1 } },
  // @ts-expect-error -- the request of another kind
  { kind: 'time_slot', request: { plan: '# Plan' } },
]

function eventsIn(page: unknown): Schemas['SessionEvent'][] {
  return (page as Schemas['EventPage']).events
}

/** The first event of the stream, without waiting for its end. */
async function firstEvent(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    text += decoder.decode(value, { stream: true })
    const found = /^event: (\w+)$/m.exec(text)
    if (found || done) return found?.[1] ?? 'nothing'
  }
}

function some<Value>(value: Value | null | undefined): Value {
  if (value === undefined || value === null) throw new Error('The request failed.')
  return value
}
