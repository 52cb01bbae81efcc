import { randomUUID } from 'node:crypto'

/** The real client of AG-UI. It is loaded by name, because the root project must compile without what is installed here. */
const CLIENT: string = '@ag-ui/client'

interface Event {
  type: string
  name?: string
  value?: unknown
  delta?: string
  outcome?: unknown
  message?: string
}

interface Message {
  role: string
  [field: string]: unknown
}

interface RealAgent {
  messages: Message[]
  pendingInterrupts: { id: string; [field: string]: unknown }[]
  addMessage(message: { id: string; role: string; content: string }): void
  runAgent(parameters: object, subscriber: { onEvent(given: { event: Event }): void }): Promise<unknown>
  abortRun(): void
}

interface RealClient {
  HttpAgent: new (options: object) => RealAgent
}

/** What one run has sent. */
export interface SeenRun {
  types: string[]
  deltas(type: string): string[]
  customs(name: string): unknown[]
  sessionId(): string
  outcome(): unknown
  /** The message of the error that has ended the run. */
  failure(): string | undefined
}

export interface AguiClient {
  say(text: string): Promise<SeenRun>
  resume(entries: object[]): Promise<SeenRun>
  /** Runs without a message and without answers. */
  look(): Promise<SeenRun>
  /** Resolves when an event of this type has come. */
  received(type: string): Promise<void>
  abort(): void
  messages(): Message[]
  interrupts(): RealAgent['pendingInterrupts']
}

export async function createAguiClient(options: {
  url: string
  token: string
  threadId: string
}): Promise<AguiClient> {
  const { url, token, threadId } = options
  const { HttpAgent } = (await import(/* @vite-ignore */ CLIENT)) as RealClient
  const agent = new HttpAgent({ url, threadId, headers: { authorization: `Bearer ${token}` } })
  const waiting = new Map<string, () => void>()
  const run = async (parameters: object): Promise<SeenRun> => {
    const events: Event[] = []
    await agent.runAgent(parameters, {
      onEvent({ event }) {
        events.push(event)
        waiting.get(event.type)?.()
      },
    })
    return seen(events)
  }
  return {
    say(text) {
      agent.addMessage({ id: randomUUID(), role: 'user', content: text })
      return run({})
    },
    resume: (resume) => run({ resume }),
    look: () => run({}),
    received: (type) => new Promise((resolve) => waiting.set(type, resolve)),
    abort: () => agent.abortRun(),
    messages: () => agent.messages,
    interrupts: () => agent.pendingInterrupts,
  }
}

function seen(events: Event[]): SeenRun {
  const customs = (name: string) => events.flatMap((event) => (event.name === name ? [event.value] : []))
  return {
    types: events.map(({ type }) => type),
    deltas: (type) => events.flatMap((event) => (event.type === type ? [event.delta ?? ''] : [])),
    customs,
    sessionId: () => (customs('askback.session')[0] as { id: string }).id,
    outcome: () => events.at(-1)?.outcome,
    failure: () => events.find(({ type }) => type === 'RUN_ERROR')?.message,
  }
}
