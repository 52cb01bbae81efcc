import { setTimeout as delay } from 'node:timers/promises'
import type { Call, Reply } from './child-desk.js'
import { CrashClient, type Send } from './crash-client.js'
import { Child, GoneError } from './child.js'

export interface CrashReport {
  problems: string[]
  /** How many processes were killed while they recovered from the one before. */
  duringRecovery: number
  acknowledged: number
  /** Sent, and the process was gone before it answered. */
  cutOff: number
}

interface Options {
  /** The bundle of `child-desk.ts`. */
  program: string
  path: string
  rounds: number
  random: () => number
}

const CLIENTS = 8
const LONGEST_RECOVERY_MS = 40
const LONGEST_WORK_MS = 150

/**
 * Each round kills a desk at a random moment once clients ask and answer, or while it recovers. The next process must
 * hold every ask and answer that was acknowledged, once, and nothing that nobody sent; what was cut off is sent again.
 */
export async function crashRounds({ program, path, rounds, random }: Options): Promise<CrashReport> {
  const report: CrashReport = { problems: [], duringRecovery: 0, acknowledged: 0, cutOff: 0 }
  const clients: CrashClient[] = []
  let unfinished: CrashClient[] = []
  // Each process loads its program while the one before is at work.
  let next = new Child<Call, Reply>(program)

  async function recover(send: Send, those: CrashClient[]): Promise<void> {
    await send({ do: 'start', path }).then(expectOk)
    for (const client of those) report.problems.push(...(await client.check(send)))
    await Promise.all(those.map((client) => client.finish(send)))
  }

  async function round(child: Child<Call, Reply>, number: number): Promise<void> {
    const send = sender(child, report)
    const duringRecovery = random() < 0.25
    const early = duringRecovery ? delay(random() * LONGEST_RECOVERY_MS).then(() => child.kill()) : null
    await recover(send, unfinished)
    if (early) return early
    unfinished = Array.from({ length: CLIENTS }, (_, index) => new CrashClient(`r${number}c${index}`, random))
    clients.push(...unfinished)
    const working = Promise.allSettled(unfinished.map((client) => client.work(send)))
    const before = report.acknowledged
    const atWork = async () => {
      let isOver = false
      void working.then(() => (isOver = true))
      while (report.acknowledged < before + CLIENTS) {
        if (isOver) return
        await delay(1)
      }
    }
    const killed = atWork()
      .then(() => delay(random() * LONGEST_WORK_MS))
      .then(() => child.kill())
    const outcomes = await working
    await killed
    for (const outcome of outcomes) if (outcome.status === 'rejected') ignoreGone(outcome.reason)
  }

  try {
    for (let number = 0; number < rounds; number++) {
      const child = next
      next = new Child(program)
      const before = unfinished
      await round(child, number).catch(ignoreGone)
      await child.kill()
      if (before === unfinished) report.duringRecovery++
    }
    const send = sender(next, report)
    await recover(send, unfinished)
    for (const client of clients) report.problems.push(...(await client.check(send)))
    const pending = clients.reduce((sum, client) => sum + client.pending, 0)
    const counted = await send({ do: 'count' })
    if (!counted.ok || counted.value !== pending)
      report.problems.push(`${pending} are pending, but not by the count`)
  } finally {
    await next.kill()
  }
  return report
}

function sender(child: Child<Call, Reply>, report: CrashReport): Send {
  return async (call) => {
    try {
      const reply = await child.call(call)
      if (reply.ok && (call.do === 'ask' || call.do === 'answer')) report.acknowledged++
      return reply
    } catch (error) {
      report.cutOff++
      throw error
    }
  }
}

function expectOk(reply: Reply): void {
  if (!reply.ok) throw new Error(`${reply.code}: ${reply.message}`)
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof GoneError)) throw error
}
