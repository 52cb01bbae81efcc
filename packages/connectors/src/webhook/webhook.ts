import { systemClock, type Change, type Clock, type ConnectorDesk } from '@askback/core'
import { AskbackError, isCopy, type Interaction, type SessionEvent } from '@askback/protocol'
import { createHash } from 'node:crypto'
import { signWebhook } from './signature.js'

export type WebhookDesk = Pick<ConnectorDesk, 'kv' | 'head' | 'changes' | 'onAppend' | 'interaction'>

export interface WebhookOptions {
  url: string
  /** Signs every call; `whsec_…` in base64, or any text. */
  secret: string
  desk: WebhookDesk
  onError: (error: unknown) => void
  clock?: Clock
  /** From 0 to 1: calls that failed together should not all come back together. */
  random?: () => number
  pollMs?: number
  /** A call that has been tried for so long is given up, and the next one is sent. */
  giveUpMs?: number
}

export interface RunningWebhook {
  readonly ready: Promise<void>
  stop(): Promise<void>
}

const PAGE = 200
const CALL_MS = 15_000
const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 5 * 60_000
const GIVE_UP_MS = 3 * 24 * 3_600_000

/** Tells another program of everything that waits or is settled: in order, at least once, from where it was. */
export function startWebhook(options: WebhookOptions): RunningWebhook {
  const { url, secret, desk, onError, clock = systemClock, random = Math.random } = options
  const { pollMs = 5000, giveUpMs = GIVE_UP_MS } = options
  const key = `webhook/${createHash('sha256').update(url).digest('hex').slice(0, 16)}/cursor`
  const stopping = new AbortController()
  let wake: () => void = () => undefined
  let rung = false
  let cursor = ''
  let saved = ''

  async function load(): Promise<void> {
    const kept = (await desk.kv.get(key))?.value as string | undefined
    cursor = kept ?? (await desk.head())
    if (kept === undefined) await save()
    saved = cursor
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      rung = false
      const changes = await desk.changes({ after: cursor, limit: PAGE })
      for (const change of changes) {
        if (!(await deliver(change))) return
        cursor = change.cursor
        if (change.events.some(typeOf)) await save()
      }
      if (changes.length === PAGE) continue
      if (!rung) await pause(pollMs)
    }
  }

  async function deliver({ sessionId, events }: Change): Promise<boolean> {
    for (const event of events) {
      const type = typeOf(event)
      if (type && !(await post(event, JSON.stringify(await payload(sessionId, event, type))))) return false
    }
    return true
  }

  async function payload(sessionId: string, event: SessionEvent, type: string) {
    const { interactionId } = event as { interactionId: string } & SessionEvent
    return {
      id: event.id,
      type,
      at: event.at,
      sessionId,
      interaction: await find(sessionId, interactionId),
      event,
    }
  }

  /** As it stands now; `null` if its session was deleted. */
  async function find(sessionId: string, interactionId: string): Promise<Interaction | null> {
    try {
      return await desk.interaction(sessionId, interactionId)
    } catch (error) {
      if (error instanceof AskbackError && error.code === 'not_found') return null
      throw error
    }
  }

  /** False if it was stopped before anybody took it. */
  async function post({ id }: SessionEvent, body: string): Promise<boolean> {
    const since = clock.now()
    for (let attempt = 0; !stopping.signal.aborted; attempt++) {
      const answered = await call(id, body)
      if (answered.ok) return true
      if (stopping.signal.aborted) break
      if (attempt === 0)
        onError(
          new AskbackError(
            'unavailable',
            `The webhook at ${new URL(url).host} ${answered.why}; it will be tried again.`,
          ),
        )
      if (clock.now() - since >= giveUpMs) {
        onError(
          new AskbackError('unavailable', `The webhook at ${new URL(url).host} never took ${id}: given up.`),
        )
        return true
      }
      const backoff = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS)
      await pause(answered.retryAfterMs ?? backoff * (0.5 + random() / 2), true)
    }
    return false
  }

  async function call(
    id: string,
    body: string,
  ): Promise<{ ok: boolean; why: string; retryAfterMs?: number }> {
    const timestamp = Math.floor(clock.now() / 1000)
    try {
      const response = await fetch(url, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': signWebhook(secret, { id, timestamp, body }),
        },
        body,
        signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(CALL_MS)]),
      })
      await response.body?.cancel()
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      const later = Number.isFinite(seconds) && { retryAfterMs: Math.min(seconds * 1000, LONGEST_PAUSE_MS) }
      return { ok: response.ok, why: `answered ${response.status}`, ...later }
    } catch {
      return { ok: false, why: 'cannot be reached' }
    }
  }

  async function save(): Promise<void> {
    for (;;) {
      const entry = await desk.kv.get(key)
      if (await desk.kv.put(key, cursor, entry?.version ?? null)) break
    }
    saved = cursor
  }

  function pause(ms: number, deaf = false): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        disarm()
        stopping.signal.removeEventListener('abort', end)
        wake = () => undefined
        resolve()
      }
      const disarm = clock.alarm(clock.now() + ms, end)
      stopping.signal.addEventListener('abort', end)
      if (!deaf) wake = end
    })
  }

  const stopListening = desk.onAppend(() => {
    rung = true
    wake()
  })
  const ready = load()
  const running = ready.then(async () => {
    while (!stopping.signal.aborted) {
      await run().catch(async (error: unknown) => {
        onError(error)
        await pause(pollMs)
      })
    }
  })
  running.catch(onError)

  return {
    ready,
    async stop() {
      stopListening()
      stopping.abort()
      await running.catch(() => undefined)
      if (saved !== cursor) await save().catch(onError)
    },
  }
}

function typeOf(event: SessionEvent): string | null {
  if (isCopy(event)) return null
  switch (event.type) {
    case 'interaction_request':
      return 'interaction.requested'
    case 'interaction_response':
      return 'interaction.settled'
    default:
      return null
  }
}
