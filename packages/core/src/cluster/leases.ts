import { AskbackError, type Json } from '@askback/protocol'
import { systemClock, type Clock } from '../clock.js'
import { newId as randomId } from '../ids.js'
import { Retry } from '../retry.js'
import type { Fence, KvEntry, Store } from '../store/store.js'
import type { Bus } from './bus.js'

export interface LeasesOptions {
  store: Store
  bus?: Bus
  clock?: Clock
  newId?: () => string
  /** How long a process may be silent before its sessions are taken over. */
  leaseMs?: number
  onError: (error: unknown) => void
}

/** Whose a session is: ours, with the fence for what its agent writes, or another's. */
export type Lease = { mine: true; fence: Fence } | { mine: false; owner: string }

/** What a process is told: of its own mail, of sessions whose owner is gone, and of those that were taken from it. */
export interface LeaseEvents {
  mail: (letter: Json) => Promise<void>
  orphans: (sessionIds: string[], letters: Json[]) => Promise<void>
  lost: (sessionIds: string[]) => void
}

const MEMBERS = 'gateway/'
const LEASES = 'lease/'
const MAIL = 'mail/'
const LEASE_MS = 10_000
const BEATS = 5

/**
 * Which process runs the agent of a session, in keys of the store. A process shows that it lives by writing its own key again
 * and again; whoever sees it stand still for too long deletes it, and then its sessions are for the taking. Time only
 * says when to do that. What keeps a process that was thought dead from writing is the version of the session's key,
 * which is another after it was taken over.
 */
export class Leases {
  readonly #options: LeasesOptions
  readonly #clock: Clock
  readonly #newId: () => string
  readonly #leaseMs: number
  readonly #retry: Retry
  readonly #held = new Map<string, Fence>()
  /** Of sessions that were taken from this process. */
  readonly #lost = new Map<string, Fence>()
  /** Of these nobody has been told yet. */
  readonly #untold = new Set<string>()
  readonly #others = new Map<string, { version: number; since: number }>()
  #id: string
  #version: number | null = null
  #events: LeaseEvents = {
    mail: async () => undefined,
    orphans: async () => undefined,
    lost: () => undefined,
  }
  #lastLook = 0
  #disarm: () => void = () => undefined
  #stopListening: (() => void) | undefined
  #work: Promise<void> = Promise.resolve()
  #collecting: 'no' | 'yes' | 'again' = 'no'
  #closed = false
  /** Before that nobody could see that it lives. */
  readonly #joined: Promise<void>
  #hasJoined: () => void = () => undefined

  constructor(options: LeasesOptions) {
    this.#options = options
    this.#clock = options.clock ?? options.store.clock ?? systemClock
    this.#newId = options.newId ?? randomId
    this.#leaseMs = options.leaseMs ?? LEASE_MS
    this.#retry = new Retry(this.#clock, options.onError)
    this.#id = this.#newId()
    this.#joined = new Promise((resolve) => (this.#hasJoined = resolve))
  }

  get id(): string {
    return this.#id
  }

  get leaseMs(): number {
    return this.#leaseMs
  }

  async start(events: LeaseEvents): Promise<void> {
    this.#events = events
    this.#stopListening = this.#options.bus?.on((message) => {
      if (message.type === 'mail' && message.to === this.#id) this.#collect()
      if (message.type === 'left') this.#soon()
    })
    await this.#retry.untilDone(() => this.#join())
    if (this.#closed) return
    this.#hasJoined()
    // One that fails is made up for by the next beat.
    await this.#look().catch(this.#options.onError)
    this.#arm()
  }

  /** Takes the session for this process, unless another that lives has it. */
  async acquire(sessionId: string): Promise<Lease> {
    const { kv } = this.#options.store
    const key = LEASES + sessionId
    await this.#joined
    for (;;) {
      if (this.#closed) throw new AskbackError('unavailable', 'The gateway is stopping.')
      const fence = this.#held.get(sessionId)
      if (fence) return { mine: true, fence }
      const id = this.#id
      const entry = await kv.get(key)
      const owner = entry && ownerOf(entry)
      if (owner !== null && owner !== id && (await kv.get(MEMBERS + owner))) return { mine: false, owner }
      // Also where it is ours already: a release that is still under way must not delete it after this.
      if (!(await kv.put(key, { gateway: id }, entry?.version ?? null))) continue
      const taken = await kv.get(key)
      if (!taken || ownerOf(taken) !== id || this.#id !== id) continue
      this.#held.set(sessionId, { key, version: taken.version })
      this.#lost.delete(sessionId)
    }
  }

  /** Whose it is, without taking it. */
  async find(sessionId: string): Promise<Lease | null> {
    const fence = this.#held.get(sessionId)
    if (fence) return { mine: true, fence }
    const entry = await this.#options.store.kv.get(LEASES + sessionId)
    return entry ? { mine: false, owner: ownerOf(entry) } : null
  }

  /** The sessions that some process has. What changed after `since` may be taken just now. */
  async taken(): Promise<{ sessionIds: Set<string>; since: number }> {
    const since = this.#clock.now() - this.#leaseMs / 2
    const leases = await this.#options.store.kv.list(LEASES)
    return { sessionIds: new Set(leases.map(({ key }) => key.slice(LEASES.length))), since }
  }

  fence(sessionId: string): Fence | undefined {
    return this.#held.get(sessionId)
  }

  /** Also of a session that was taken from this process, where it keeps out what its agent has left behind. */
  lastFence(sessionId: string): Fence | undefined {
    return this.#held.get(sessionId) ?? this.#lost.get(sessionId)
  }

  async release(sessionId: string): Promise<void> {
    const fence = this.#held.get(sessionId)
    if (!this.#held.delete(sessionId) || !fence) return
    await this.#options.store.kv.put(fence.key, null, fence.version)
  }

  /** It was found out that another has it. */
  forget(sessionId: string): void {
    const fence = this.#held.get(sessionId)
    if (fence) this.#lost.set(sessionId, fence)
    this.#held.delete(sessionId)
  }

  /** A letter that its process gets once; if it is gone, whoever takes over its sessions does. */
  async post(to: string, letter: Json): Promise<void> {
    const place = String(this.#clock.now()).padStart(15, '0')
    await this.#options.store.kv.put(`${MAIL}${to}/${place}-${this.#newId()}`, letter, null)
    this.#options.bus?.publish({ type: 'mail', to })
  }

  /** Whoever is left takes over at once. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#retry.end()
    this.#disarm()
    this.#stopListening?.()
    await this.#work
    if (this.#version !== null)
      await this.#options.store.kv.put(MEMBERS + this.#id, null, this.#version).catch(this.#options.onError)
    this.#options.bus?.publish({ type: 'left' })
  }

  /** Looks around now, as after a sleep. */
  async wake(): Promise<void> {
    this.#soon()
    await this.#work
  }

  /** Resolves when what has begun is done. */
  async settled(): Promise<void> {
    await this.#work
  }

  async #join(): Promise<void> {
    const { kv } = this.#options.store
    await kv.put(MEMBERS + this.#id, { at: this.#clock.now() }, null)
    this.#version = (await kv.get(MEMBERS + this.#id))?.version ?? null
    // Where another attempt failed half way, the key may be there already.
    if (this.#version === null) throw new AskbackError('unavailable', 'This gateway could not sign on.')
  }

  #arm(): void {
    this.#disarm()
    if (this.#closed) return
    this.#disarm = this.#clock.alarm(this.#clock.now() + this.#leaseMs / BEATS, () => this.#soon())
  }

  #soon(): void {
    this.#disarm()
    this.#work = this.#work
      .then(() => this.#beat())
      .catch(this.#options.onError)
      .finally(() => this.#arm())
  }

  async #beat(): Promise<void> {
    if (this.#closed) return
    const { kv } = this.#options.store
    const lives = await kv.put(MEMBERS + this.#id, { at: this.#clock.now() }, this.#version)
    if (!lives && !(await this.#isOurs())) await this.#rejoin()
    await this.#look()
    this.#collect()
  }

  /** A write that failed half way may have been made. */
  async #isOurs(): Promise<boolean> {
    const entry = await this.#options.store.kv.get(MEMBERS + this.#id)
    if (entry) this.#version = entry.version
    return entry !== null
  }

  /** Others took this process for dead: what was its own is theirs now, and it goes on as another. */
  async #rejoin(): Promise<void> {
    for (const sessionId of this.#held.keys()) {
      this.forget(sessionId)
      this.#untold.add(sessionId)
    }
    this.#id = this.#newId()
    // If that fails, the next beat comes here again.
    await this.#join()
    const lost = [...this.#untold]
    this.#untold.clear()
    this.#events.lost(lost)
  }

  async #look(): Promise<void> {
    const { kv } = this.#options.store
    const members = await kv.list(MEMBERS)
    const now = this.#clock.now()
    // While nobody looked, nobody was seen to be silent: the database may have been away, or this process.
    let gone = now - this.#lastLook > this.#leaseMs / 2
    if (gone) this.#others.clear()
    this.#lastLook = now
    const known = new Set(this.#others.keys())
    for (const { key, version } of members) {
      const id = key.slice(MEMBERS.length)
      known.delete(id)
      if (id === this.#id) this.#version = version
      else if (await this.#isSilent(id, version, now)) gone = (await kv.put(key, null, version)) || gone
    }
    for (const id of known) this.#others.delete(id)
    if (gone || known.size > 0) await this.#takeOver()
  }

  async #isSilent(id: string, version: number, now: number): Promise<boolean> {
    const seen = this.#others.get(id)
    if (seen?.version !== version) this.#others.set(id, { version, since: now })
    else if (now - seen.since >= this.#leaseMs * (1 - 2 / BEATS)) return this.#others.delete(id)
    return false
  }

  /** Members are read after what they hold: one that joined in between is not missed. */
  async #takeOver(): Promise<void> {
    const { kv } = this.#options.store
    const leases = await kv.list(LEASES)
    const mail = await kv.list(MAIL)
    const members = new Set((await kv.list(MEMBERS)).map(({ key }) => key.slice(MEMBERS.length)))
    const orphans = leases.filter((entry) => !members.has(ownerOf(entry)))
    const letters: Json[] = []
    for (const { key, value, version } of mail) {
      const to = key.slice(MAIL.length, key.lastIndexOf('/'))
      if (!members.has(to) && (await kv.put(key, null, version))) letters.push(value)
    }
    await this.#events.orphans(
      orphans.map(({ key }) => key.slice(LEASES.length)),
      letters,
    )
  }

  #collect(): void {
    if (this.#collecting !== 'no') {
      this.#collecting = 'again'
      return
    }
    this.#collecting = 'yes'
    this.#open()
      .catch(this.#options.onError)
      .finally(() => {
        const again = this.#collecting === 'again'
        this.#collecting = 'no'
        if (again && !this.#closed) this.#collect()
      })
  }

  async #open(): Promise<void> {
    const { kv } = this.#options.store
    for (const { key, value, version } of await kv.list(`${MAIL}${this.#id}/`)) {
      if (this.#closed) return
      if (await kv.put(key, null, version)) await this.#events.mail(value)
    }
  }
}

function ownerOf({ value }: KvEntry): string {
  return (value as { gateway: string }).gateway
}
