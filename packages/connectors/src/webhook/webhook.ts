import { jumpAwareClock, type Change, type Clock } from '@askback/core'
import {
  AskbackError,
  Backoff,
  backoffMs,
  isCopy,
  type Interaction,
  type SessionEvent,
} from '@askback/protocol'
import { createHash, createHmac } from 'node:crypto'
import { overwrite } from '../overwrite.js'
import type { ConnectorDesk } from '../runner/connector-desk.js'

/** The part of a desk that webhooks read. */
export type WebhookDesk = Pick<ConnectorDesk, 'kv' | 'head' | 'changes' | 'onAppend' | 'interaction'>

/** The options of `runWebhook`. */
export interface WebhookOptions {
  url: string
  /** Signs every call: `whsec_` followed by base64, or any text. */
  secret: string
  desk: WebhookDesk
  /** Called at the first failure of each call and when a call is given up. */
  onError: (error: unknown) => void
  /** @default the system's clock */
  clock?: Clock
  /** From 0 to 1, to spread retries of calls that failed together. @default Math.random */
  random?: () => number
  /** How often to look for changes without a doorbell, in milliseconds. @default 5000 */
  pollMs?: number
  /** How long a call is retried before it is given up and the next one is sent, in milliseconds. @default three days */
  giveUpMs?: number
}

/** A webhook that runs until it is closed. */
export interface RunningWebhook {
  /** Resolves when the cursor is loaded. */
  readonly ready: Promise<void>
  stop(): Promise<void>
}

interface CallResult {
  ok: boolean
  /** Why it failed, to follow "The webhook". */
  reason: string
  retryAfterMs?: number
}

const PAGE_SIZE = 200
const CALL_TIMEOUT_MS = 15_000
const BACKOFF = { firstMs: 1000, maxMs: 5 * 60_000 }
const GIVE_UP_MS = 3 * 24 * 3_600_000

/**
 * Calls another program for every interaction that is requested or settled: in order, at least once, and from where the last
 * process stopped. The cursor is saved after each delivered change, so a crash may repeat a call but never skips one.
 *
 * @example
 * const desk = connectorDesk(host, store, { sessions: 'all' })
 * const webhook = startWebhook({ url, secret, desk, onError: console.error })
 */
export function startWebhook(options: WebhookOptions): RunningWebhook {
  const { url, secret, desk, onError, clock = jumpAwareClock, random = Math.random } = options
  const { pollMs = 5000, giveUpMs = GIVE_UP_MS } = options
  const { host } = new URL(url)
  const cursorKey = `webhook/${createHash('sha256').update(url).digest('hex').slice(0, 16)}/cursor`
  const stopping = new AbortController()
  /** Its waits end early at a doorbell, those between retries do not. */
  const polling = new Backoff({ clock })
  const retrying = new Backoff({ clock })
  let hasDoorbell = false
  let cursor = ''
  let savedCursor = ''

  async function loadCursor(): Promise<void> {
    const stored = (await desk.kv.get(cursorKey))?.value
    const isStored = typeof stored === 'string'
    cursor = isStored ? stored : await desk.head()
    if (!isStored) await saveCursor()
    savedCursor = cursor
  }

  async function saveCursor(): Promise<void> {
    const saving = cursor
    await overwrite(desk.kv, cursorKey, saving)
    savedCursor = saving
  }

  async function deliverChanges(): Promise<void> {
    while (!stopping.signal.aborted) {
      hasDoorbell = false
      const changes = await desk.changes({ after: cursor, limit: PAGE_SIZE })
      for (const change of changes) {
        if (!(await deliver(change))) return
        cursor = change.cursor
        if (change.events.some(callType)) await saveCursor()
      }
      if (changes.length === PAGE_SIZE) continue
      if (!hasDoorbell) await polling.sleep(pollMs, stopping.signal)
    }
  }

  /** Resolves to false if the webhook was stopped before everything was delivered. */
  async function deliver({ sessionId, events }: Change): Promise<boolean> {
    for (const event of events) {
      const type = callType(event)
      if (type && !(await callWithRetries(event, JSON.stringify(await payload(sessionId, event, type)))))
        return false
    }
    return true
  }

  async function payload(sessionId: string, event: SessionEvent, type: string) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only called for events of an interaction
    const { interactionId } = event as { interactionId: string } & SessionEvent
    return {
      id: event.id,
      type,
      at: event.at,
      sessionId,
      interaction: await findInteraction(sessionId, interactionId),
      event,
    }
  }

  /** The interaction as it is now; `null` if its session was deleted. */
  async function findInteraction(sessionId: string, interactionId: string): Promise<Interaction | null> {
    try {
      return await desk.interaction(sessionId, interactionId)
    } catch (error) {
      if (error instanceof AskbackError && error.code === 'not_found') return null
      throw error
    }
  }

  /** Resolves to true when the call succeeded or was given up, and to false if the webhook was stopped. */
  async function callWithRetries({ id }: SessionEvent, body: string): Promise<boolean> {
    const since = clock.now()
    for (let failures = 1; !stopping.signal.aborted; failures++) {
      const result = await call(id, body)
      if (result.ok) return true
      if (stopping.signal.aborted) break
      if (failures === 1) report(`${result.reason}; it will be tried again.`)
      if (clock.now() - since >= giveUpMs) {
        report(`never took ${id}: given up.`)
        return true
      }
      const pauseMs = result.retryAfterMs ?? backoffMs(failures, { ...BACKOFF, random })
      await retrying.sleep(pauseMs, stopping.signal)
    }
    return false
  }

  function report(problem: string): void {
    onError(new AskbackError('unavailable', `The webhook at ${host} ${problem}`))
  }

  async function call(id: string, body: string): Promise<CallResult> {
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
        signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]),
      })
      await response.body?.cancel()
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      const later = Number.isFinite(seconds) && { retryAfterMs: Math.min(seconds * 1000, BACKOFF.maxMs) }
      return { ok: response.ok, reason: `answered ${response.status}`, ...later }
    } catch {
      return { ok: false, reason: 'cannot be reached' }
    }
  }

  const unsubscribe = desk.onAppend(() => {
    hasDoorbell = true
    polling.retryNow()
  })
  const ready = loadCursor()
  const running = ready.then(async () => {
    while (!stopping.signal.aborted) {
      await deliverChanges().catch(async (error: unknown) => {
        onError(error)
        await polling.sleep(pollMs, stopping.signal)
      })
    }
  })
  running.catch(onError)

  return {
    ready,
    async stop() {
      unsubscribe()
      stopping.abort()
      await running.catch(() => undefined)
      if (savedCursor !== cursor) await saveCursor().catch(onError)
    },
  }
}

/**
 * The `webhook-signature` of a call, as standardwebhooks.com defines it. Libraries in many languages can check it.
 *
 * @example
 * const headers = { 'webhook-signature': signWebhook(secret, { id, timestamp, body }) }
 */
export function signWebhook(
  secret: string,
  message: { id: string; timestamp: number; body: string },
): string {
  const [, encoded] = /^whsec_(.+)$/.exec(secret) ?? []
  const key = encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, 'base64')
  const { id, timestamp, body } = message
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}

/** The type of the call for an event; `null` if there is none. Copies were announced with their originals. */
function callType(event: SessionEvent): string | null {
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
