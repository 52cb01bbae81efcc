import { AskbackError } from '@askback/protocol'
import type { Append, AppendResult } from '@askback/core'

const MOST_IN_BATCH = 256

interface Job {
  /** What it touches; `null` for everything. */
  touches: string[] | null
  append: Append | null
  run: () => Promise<void>
  resolve: (result: AppendResult) => void
  reject: (error: unknown) => void
}

export interface Writes {
  append(append: Append): Promise<AppendResult>
  /** Anything else, in its turn with all that touches the same; `null` touches everything. */
  submit<T>(touches: string[] | null, work: () => Promise<T>): Promise<T>
  drained(): Promise<void>
}

/**
 * Appends of this process are committed in the order they came in: while one statement is at work the next gathers, and
 * takes all that touch different sessions and keys. Other writes go beside them, in their turn with all that touches the
 * same.
 */
export function writes(send: (appends: Append[]) => Promise<AppendResult[]>): Writes {
  let queue: Job[] = []
  const busy = new Set<string>()
  let atWork = 0
  let isAppending = false
  let isExclusive = false
  let isScheduled = false
  let whenDrained: (() => void)[] = []

  function push(job: Job): void {
    queue.push(job)
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      dispatch()
    })
  }

  function dispatch(): void {
    const batch: Job[] = []
    const others: Job[] = []
    const waiting: Job[] = []
    const claimed = new Set<string>()
    let appendsWait = isAppending
    let allWait = isExclusive
    for (const job of queue) {
      const isFree = !allWait && canGo(job, claimed)
      if (!isFree || (job.append && (appendsWait || batch.length === MOST_IN_BATCH))) {
        waiting.push(job)
        if (job.append) appendsWait = true
      } else if (job.append) batch.push(job)
      else others.push(job)
      if (job.touches === null) {
        allWait = true
        isExclusive ||= isFree
      }
      for (const key of job.touches ?? []) claimed.add(key)
    }
    queue = waiting
    for (const job of others) start([job], job.run)
    if (batch.length === 0) return
    isAppending = true
    start(batch, () => sendAll(batch).finally(() => (isAppending = false)))
  }

  function canGo(job: Job, claimed: Set<string>): boolean {
    if (job.touches === null) return atWork === 0 && claimed.size === 0
    return !job.touches.some((key) => claimed.has(key) || busy.has(key))
  }

  function start(jobs: Job[], work: () => Promise<void>): void {
    atWork++
    const touched = jobs.flatMap(({ touches }) => touches ?? [])
    for (const key of touched) busy.add(key)
    void work().finally(() => {
      atWork--
      isExclusive = false
      for (const key of touched) busy.delete(key)
      if (queue.length > 0) dispatch()
      else if (atWork === 0) {
        for (const tell of whenDrained) tell()
        whenDrained = []
      }
    })
  }

  async function sendAll(batch: Job[]): Promise<void> {
    try {
      const results = await send(batch.map(({ append }) => append!))
      for (const [index, job] of batch.entries()) {
        const result = results[index]
        if (result) job.resolve(result)
        else job.reject(new AskbackError('internal', 'The database gave no answer to an append.'))
      }
    } catch (error) {
      for (const job of batch) job.reject(error)
    }
  }

  return {
    append: (append) =>
      new Promise((resolve, reject) => {
        push({ touches: touchesOf(append), append, run: () => Promise.resolve(), resolve, reject })
      }),
    submit: <T>(touches: string[] | null, work: () => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const run = () => work().then(resolve, reject)
        push({ touches, append: null, run, resolve: () => undefined, reject })
      }),
    drained: () =>
      queue.length === 0 && atWork === 0
        ? Promise.resolve()
        : new Promise((resolve) => whenDrained.push(resolve)),
  }
}

function touchesOf({ sessionId, kv = [], fence }: Append): string[] {
  const touches = [ofSession(sessionId), ...kv.map(({ key }) => ofKey(key))]
  if (fence) touches.push(ofKey(fence.key))
  return touches
}

export function ofSession(sessionId: string): string {
  return `s ${sessionId}`
}

export function ofKey(key: string): string {
  return `k ${key}`
}
