import { setTimeout as delay } from 'node:timers/promises'
import type { DeskCall, DeskReply } from './child-desk.js'
import { Child, ProcessEndedError } from './child-process.js'
import { CrashClient, type Send } from './crash-client.js'

export interface CrashReport {
  problems: string[]
  /** How many processes were killed during their recovery. */
  duringRecovery: number
  acknowledged: number
  /** Calls to which the process did not reply before it ended. */
  unanswered: number
}

interface CrashOptions {
  /** The bundle of `child-desk.ts`. */
  program: string
  path: string
  rounds: number
  random: () => number
}

const CLIENTS = 8
const MAX_RECOVERY_MS = 40
const MAX_WORK_MS = 150

/**
 * Each round kills a desk at a random moment while clients ask and answer, or while it recovers from the kill before. The next
 * process must have every acknowledged question and answer exactly once, and nothing that nobody sent. Then the clients repeat
 * what was not acknowledged.
 */
export async function crashRounds({ program, path, rounds, random }: CrashOptions): Promise<CrashReport> {
  const report: CrashReport = { problems: [], duringRecovery: 0, acknowledged: 0, unanswered: 0 }
  const clients: CrashClient[] = []
  let unfinished: CrashClient[] = []
  // Started early, so that loading its program does not delay the next round.
  let next = new Child<DeskCall, DeskReply>(program)

  async function recover(send: Send, toCheck: CrashClient[]): Promise<void> {
    await send({ do: 'start', path }).then(expectOk)
    for (const client of toCheck) report.problems.push(...(await client.check(send)))
    await Promise.all(toCheck.map((client) => client.finish(send)))
  }

  async function round(child: Child<DeskCall, DeskReply>, number: number): Promise<void> {
    const send = sender(child, report)
    const duringRecovery = random() < 0.25
    const earlyKill = duringRecovery ? delay(random() * MAX_RECOVERY_MS).then(() => child.kill()) : null
    await recover(send, unfinished)
    if (earlyKill) return earlyKill
    unfinished = Array.from({ length: CLIENTS }, (_, index) => new CrashClient(`r${number}c${index}`, random))
    clients.push(...unfinished)
    const working = Promise.allSettled(unfinished.map((client) => client.work(send)))
    const before = report.acknowledged
    const allAtWork = async () => {
      let isOver = false
      void working.then(() => (isOver = true))
      while (report.acknowledged < before + CLIENTS) {
        if (isOver) return
        await delay(1)
      }
    }
    const killed = allAtWork()
      .then(() => delay(random() * MAX_WORK_MS))
      .then(() => child.kill())
    const outcomes = await working
    await killed
    for (const outcome of outcomes) if (outcome.status === 'rejected') ignoreProcessEnd(outcome.reason)
  }

  try {
    for (let number = 0; number < rounds; number++) {
      const child = next
      next = new Child(program)
      const before = unfinished
      await round(child, number).catch(ignoreProcessEnd)
      await child.kill()
      if (before === unfinished) report.duringRecovery++
    }
    const send = sender(next, report)
    await recover(send, unfinished)
    for (const client of clients) report.problems.push(...(await client.check(send)))
    const pending = clients.reduce((sum, client) => sum + client.pending, 0)
    const counted = await send({ do: 'count' })
    if (!counted.ok || counted.value !== pending)
      report.problems.push(`${pending} are pending, but countPending says otherwise`)
  } finally {
    await next.kill()
  }
  return report
}

function sender(child: Child<DeskCall, DeskReply>, report: CrashReport): Send {
  return async (call) => {
    try {
      const reply = await child.call(call)
      if (reply.ok && (call.do === 'ask' || call.do === 'answer')) report.acknowledged++
      return reply
    } catch (error) {
      report.unanswered++
      throw error
    }
  }
}

function expectOk(reply: DeskReply): void {
  if (!reply.ok) throw new Error(`${reply.code}: ${reply.message}`)
}

function ignoreProcessEnd(error: unknown): void {
  if (!(error instanceof ProcessEndedError)) throw error
}
