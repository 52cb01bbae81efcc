import { AskbackError } from '@askback/protocol'
import type { Append, AppendResult } from '@askback/core'

/*
 * The order of the writes of one process. Writes that use the same resource, a session or a key, run one after the other in the
 * order in which they came. Appends are sent in batches: while one batch is being committed the next is collected, with all
 * appends whose resources differ. So under load one statement and one commit serve many appends. Other writes run beside the
 * batches.
 */

const MAX_BATCH = 256

interface QueuedWrite {
  /** The sessions and keys that it uses; `null` for all of them. */
  resources: string[] | null
  /** `null` for a write that is no append and runs by itself. */
  append: Append | null
  run: () => Promise<void>
  resolve: (result: AppendResult) => void
  reject: (error: unknown) => void
}

export interface WriteQueue {
  append(append: Append): Promise<AppendResult>
  /** Runs `work` when no other write uses its resources; `null` means all resources, so that it runs by itself. */
  submit<T>(resources: string[] | null, work: () => Promise<T>): Promise<T>
  /** Resolves when every write has ended. */
  drained(): Promise<void>
}

/** `send` commits a batch and returns the results in its order. */
export function writeQueue(send: (appends: Append[]) => Promise<AppendResult[]>): WriteQueue {
  let queue: QueuedWrite[] = []
  const busy = new Set<string>()
  let running = 0
  let isAppending = false
  let isExclusive = false
  let isScheduled = false
  let whenDrained: (() => void)[] = []

  function push(write: QueuedWrite): void {
    queue.push(write)
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      dispatch()
    })
  }

  /** Starts every write whose resources are free. A write that must wait reserves its resources, so that no later one overtakes it. */
  function dispatch(): void {
    const batch: QueuedWrite[] = []
    const others: QueuedWrite[] = []
    const waiting: QueuedWrite[] = []
    const reserved = new Set<string>()
    let mustAppendsWait = isAppending
    let mustAllWait = isExclusive
    for (const write of queue) {
      const isFree = !mustAllWait && canStart(write, reserved)
      if (!isFree || (write.append && (mustAppendsWait || batch.length === MAX_BATCH))) {
        waiting.push(write)
        if (write.append) mustAppendsWait = true
      } else if (write.append) batch.push(write)
      else others.push(write)
      if (write.resources === null) {
        mustAllWait = true
        isExclusive ||= isFree
      }
      for (const key of write.resources ?? []) reserved.add(key)
    }
    queue = waiting
    for (const write of others) start([write], write.run)
    if (batch.length === 0) return
    isAppending = true
    start(batch, () => sendAll(batch).finally(() => (isAppending = false)))
  }

  function canStart(write: QueuedWrite, reserved: Set<string>): boolean {
    if (write.resources === null) return running === 0 && reserved.size === 0
    return !write.resources.some((key) => reserved.has(key) || busy.has(key))
  }

  function start(writes: QueuedWrite[], work: () => Promise<void>): void {
    running++
    const used = writes.flatMap(({ resources }) => resources ?? [])
    for (const key of used) busy.add(key)
    void work().finally(() => {
      running--
      isExclusive = false
      for (const key of used) busy.delete(key)
      if (queue.length > 0) dispatch()
      else if (running === 0) {
        for (const resolve of whenDrained) resolve()
        whenDrained = []
      }
    })
  }

  async function sendAll(batch: QueuedWrite[]): Promise<void> {
    try {
      const results = await send(batch.map(({ append }) => append!))
      for (const [index, write] of batch.entries()) {
        const result = results[index]
        if (result) write.resolve(result)
        else write.reject(new AskbackError('internal', 'The database gave no answer to an append.'))
      }
    } catch (error) {
      for (const write of batch) write.reject(error)
    }
  }

  return {
    append: (append) =>
      new Promise((resolve, reject) => {
        push({ resources: resourcesOf(append), append, run: () => Promise.resolve(), resolve, reject })
      }),
    submit: <T>(resources: string[] | null, work: () => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const run = () => work().then(resolve, reject)
        push({ resources, append: null, run, resolve: () => undefined, reject })
      }),
    drained: () =>
      queue.length === 0 && running === 0
        ? Promise.resolve()
        : new Promise((resolve) => whenDrained.push(resolve)),
  }
}

function resourcesOf({ sessionId, kv = [], fence }: Append): string[] {
  const resources = [sessionResource(sessionId), ...kv.map(({ key }) => keyResource(key))]
  if (fence) resources.push(keyResource(fence.key))
  return resources
}

export function sessionResource(sessionId: string): string {
  return `s ${sessionId}`
}

export function keyResource(key: string): string {
  return `k ${key}`
}
