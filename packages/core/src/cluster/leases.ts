import { AskbackError, type Json } from '@askback/protocol'
import { jumpAwareClock, type Clock } from '../clock.js'
import { newId as randomId } from '../ids.js'
import { InOrder } from '../in-order.js'
import { Retry } from '../retry.js'
import type { Fence, KvEntry, Store } from '../store/store.js'
import type { Bus } from './bus.js'

/** The options of `Leases`. */
export interface LeasesOptions {
  store: Store
  bus?: Bus
  clock?: Clock
  newId?: () => string
  /** How long a process may be silent before its sessions are taken over, in milliseconds. */
  leaseMs?: number
  onError: (error: unknown) => void
}

/** Who owns a session: this process, with the fence for its agent's writes, or another one. */
export type Lease = { mine: true; fence: Fence } | { mine: false; owner: string }

/** Handlers of this process. One that fails is called again at the next heartbeat. */
export interface LeaseEvents {
  /** A command in the mailbox of this process. It is removed after this, so a crash or a lost reply can repeat it. */
  mail: (command: Json) => Promise<void>
  /** Sessions of a dead owner, and the commands in its mailbox, which are removed after this. */
  orphans: (sessionIds: string[], commands: Json[]) => Promise<void>
  /** Sessions that were taken from this process. */
  lost: (sessionIds: string[]) => void
}

const MEMBERS = 'gateway/'
const LEASES = 'lease/'
const MAIL = 'mail/'
const LEASE_MS = 10_000
const BEATS = 5

/**
 * Says which process runs the agent of a session, with keys in the store.
 *
 *   free --acquire--> owned --release--> free
 *                       |
 *                       +--(the owner's heartbeat stops, another process deletes its key)--> free, and taken over
 *
 * Each process writes a heartbeat key. A process that sees the key of another one unchanged for too long deletes it; then its sessions
 * can be acquired. Time only decides when that happens. A process that was wrongly taken for dead cannot write any more, because the
 * version of the session's key (the fence) changes with the takeover.
 */
export class Leases {
  readonly #options: LeasesOptions
  readonly #clock: Clock
  readonly #newId: () => string
  readonly #leaseMs: number
  readonly #retry: Retry
  /** Acquires and releases of one session run one after the other: overlapping ones would invalidate each other's fence. */
  readonly #inOrder = new InOrder()
  readonly #held = new Map<string, Fence>()
  /** Leases whose release failed: the key may still name this process. */
  readonly #unreleased = new Map<string, Fence>()
  /** For each lease, how many owners in a row have died before this process acquired it. */
  readonly #takeovers = new Map<string, number>()
  /** Fences of sessions that were taken from this process. */
  readonly #lost = new Map<string, Fence>()
  /** Lost sessions that were not reported to the handler yet. */
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
  /** Runs in parallel to the heartbeats, which must continue while a takeover is in progress. */
  #takingOver: Promise<void> | null = null
  /** Kept until a takeover has succeeded, because no other process finds what the dead one left. */
  #mustTakeOver = false
  #collecting: 'no' | 'yes' | 'again' = 'no'
  /** Keys in the mailbox that are being handled, or were and could not be removed. */
  readonly #handling = new Set<string>()
  readonly #handled = new Set<string>()
  #closed = false
  /** Must be awaited first: without a heartbeat other processes take this one for dead. */
  readonly #joined: Promise<void>
  #hasJoined: () => void = () => undefined

  constructor(options: LeasesOptions) {
    this.#options = options
    this.#clock = options.clock ?? options.store.clock ?? jumpAwareClock
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
    // If it fails, the next heartbeat follows.
    await this.#look().catch(this.#options.onError)
    await this.#takingOver
    this.#arm()
  }

  /** Acquires the lease of a session, unless a living process has it. */
  acquire(sessionId: string): Promise<Lease> {
    return this.#inOrder.run(sessionId, () => this.#acquire(sessionId))
  }

  /** The lease of a session without acquiring it; `null` if no living process has it. */
  async find(sessionId: string): Promise<Lease | null> {
    const fence = this.#held.get(sessionId)
    if (fence) return { mine: true, fence }
    const entry = await this.#options.store.kv.get(LEASES + sessionId)
    const owner = entry && ownerOf(entry)
    if (owner === null || owner === this.#id || !(await this.#lives(owner))) return null
    return { mine: false, owner }
  }

  /** How many owners in a row died before this process acquired the lease; 0 if it was free. */
  takeovers(sessionId: string): number {
    return this.#takeovers.get(sessionId) ?? 0
  }

  /** The sessions that have an owner. */
  async taken(): Promise<Set<string>> {
    const leases = await this.#options.store.kv.list(LEASES)
    return new Set(leases.map(({ key }) => key.slice(LEASES.length)))
  }

  fence(sessionId: string): Fence | undefined {
    return this.#held.get(sessionId)
  }

  /** Also for a session that was taken from this process: it rejects writes of the agent that ran here. */
  lastFence(sessionId: string): Fence | undefined {
    return this.#held.get(sessionId) ?? this.#lost.get(sessionId)
  }

  /** If this fails, call it again: the key may still be there. */
  release(sessionId: string): Promise<void> {
    return this.#inOrder.run(sessionId, async () => {
      const fence = this.#held.get(sessionId) ?? this.#unreleased.get(sessionId)
      if (!fence) return
      this.#held.delete(sessionId)
      this.#takeovers.delete(sessionId)
      this.#unreleased.set(sessionId, fence)
      await this.#options.store.kv.put(fence.key, null, fence.version)
      this.#unreleased.delete(sessionId)
    })
  }

  /** Called when a write showed that another process has the lease. */
  forget(sessionId: string): void {
    const fence = this.#held.get(sessionId)
    if (fence) this.#lost.set(sessionId, fence)
    this.#held.delete(sessionId)
    this.#takeovers.delete(sessionId)
  }

  /**
   * Puts a command into the mailbox of a process. Returns whether that process was alive afterwards: then it, or the process that
   * takes over from it, gets the command at least once. Otherwise the command may be lost.
   */
  async post(to: string, command: Json): Promise<boolean> {
    const place = String(this.#clock.now()).padStart(15, '0')
    await this.#options.store.kv.put(`${MAIL}${to}/${place}-${this.#newId()}`, command, null)
    this.#options.bus?.publish({ type: 'mail', to })
    return this.#lives(to)
  }

  /** Releases everything, so that other processes take over at once. */
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

  /** Checks the other processes now, for example after this machine slept. */
  async wake(): Promise<void> {
    this.#soon()
    await this.settled()
  }

  /** Resolves when the running work is done. */
  async settled(): Promise<void> {
    await this.#work
    await this.#takingOver
  }

  async #acquire(sessionId: string): Promise<Lease> {
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
      if (owner !== null && owner !== id && (await this.#lives(owner))) return { mine: false, owner }
      const takeovers = entry ? takeoversOf(entry) + (owner === id ? 0 : 1) : 0
      // Also if the key names this process: an own write whose reply was lost must not take effect after this.
      if (!(await kv.put(key, { gateway: id, takeovers }, entry?.version ?? null))) continue
      const taken = await kv.get(key)
      if (!taken || ownerOf(taken) !== id || this.#id !== id) continue
      this.#held.set(sessionId, { key, version: taken.version })
      this.#takeovers.set(sessionId, takeovers)
      this.#lost.delete(sessionId)
      this.#unreleased.delete(sessionId)
    }
  }

  async #lives(id: string): Promise<boolean> {
    return (await this.#options.store.kv.get(MEMBERS + id)) !== null
  }

  async #join(): Promise<void> {
    const { kv } = this.#options.store
    await kv.put(MEMBERS + this.#id, { at: this.#clock.now() }, null)
    this.#version = (await kv.get(MEMBERS + this.#id))?.version ?? null
    // The key may exist already, if an earlier attempt failed half way.
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

  /** A write that failed may have taken effect. */
  async #isOurs(): Promise<boolean> {
    const entry = await this.#options.store.kv.get(MEMBERS + this.#id)
    if (entry) this.#version = entry.version
    return entry !== null
  }

  /** Other processes took this one for dead and own its sessions now. It continues with a new id. */
  async #rejoin(): Promise<void> {
    for (const sessionId of this.#held.keys()) {
      this.forget(sessionId)
      this.#untold.add(sessionId)
    }
    this.#id = this.#newId()
    // If that fails, the next heartbeat tries again.
    await this.#join()
    const lost = [...this.#untold]
    this.#untold.clear()
    this.#events.lost(lost)
  }

  async #look(): Promise<void> {
    const { kv } = this.#options.store
    const members = await kv.list(MEMBERS)
    const now = this.#clock.now()
    // After a pause in checking, silence proves nothing: the database or this process may have been unreachable.
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
    if (gone || known.size > 0) this.#mustTakeOver = true
    this.#takingOver ??= this.#takeOver()
      .catch(this.#options.onError)
      .finally(() => (this.#takingOver = null))
  }

  async #isSilent(id: string, version: number, now: number): Promise<boolean> {
    const seen = this.#others.get(id)
    if (seen?.version !== version) this.#others.set(id, { version, since: now })
    else if (now - seen.since >= this.#leaseMs * (1 - 2 / BEATS)) return this.#others.delete(id)
    return false
  }

  /** Reads the members after their leases, so that a member that joined in between is not missed. */
  async #takeOver(): Promise<void> {
    const { kv } = this.#options.store
    while (this.#mustTakeOver && !this.#closed) {
      this.#mustTakeOver = false
      try {
        const leases = await kv.list(LEASES)
        const mail = await kv.list(MAIL)
        const members = new Set((await kv.list(MEMBERS)).map(({ key }) => key.slice(MEMBERS.length)))
        const orphans = leases.filter((entry) => !members.has(ownerOf(entry)))
        const left = mail.filter(({ key }) => !members.has(key.slice(MAIL.length, key.lastIndexOf('/'))))
        await this.#events.orphans(
          orphans.map(({ key }) => key.slice(LEASES.length)),
          left.map(({ value }) => value),
        )
        for (const { key, version } of left) await kv.put(key, null, version)
      } catch (error) {
        this.#mustTakeOver = true
        throw error
      }
    }
  }

  #collect(): void {
    if (this.#collecting !== 'no') {
      this.#collecting = 'again'
      return
    }
    this.#collecting = 'yes'
    this.#readMail()
      .catch(this.#options.onError)
      .finally(() => {
        const again = this.#collecting === 'again'
        this.#collecting = 'no'
        if (again && !this.#closed) this.#collect()
      })
  }

  /** Starts the commands in the order of the mailbox without waiting, so that one that hangs does not block the others. */
  async #readMail(): Promise<void> {
    const entries = await this.#options.store.kv.list(`${MAIL}${this.#id}/`)
    const present = new Set(entries.map(({ key }) => key))
    for (const key of this.#handled) if (!present.has(key)) this.#handled.delete(key)
    for (const entry of entries) {
      if (this.#closed) return
      if (this.#handling.has(entry.key)) continue
      this.#handling.add(entry.key)
      void this.#handle(entry)
        .catch(this.#options.onError)
        .finally(() => this.#handling.delete(entry.key))
    }
  }

  /** Removes a command only after it was executed: a lost reply causes a repetition, and no command is lost. */
  async #handle({ key, value, version }: KvEntry): Promise<void> {
    if (!this.#handled.has(key)) await this.#events.mail(value)
    this.#handled.add(key)
    await this.#options.store.kv.put(key, null, version)
  }
}

function takeoversOf({ value }: KvEntry): number {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `Leases` writes these entries
  return (value as { takeovers?: number }).takeovers ?? 0
}

function ownerOf({ value }: KvEntry): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `Leases` writes these entries
  return (value as { gateway: string }).gateway
}
