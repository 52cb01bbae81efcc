/**
 * Finds and kills processes that an agent's program has left running.
 *
 * The shells of an agent run in process groups of their own, so they survive when the program's group is killed. But they
 * inherit its environment. Each run of an agent therefore gets a mark in the variable `RUN_MARK`, and every process that
 * carries the mark belongs to that run:
 *
 *     <session>/<gateway's process>/<run>     ends with its gateway
 *     <session>/detached/<run>                outlives its gateway and ends itself (see detached-program.ts)
 *
 * Only Linux shows the environment of other processes, in `/proc`. Elsewhere nothing is found, and killing the process
 * group has to suffice.
 */
import { readFileSync, readdirSync } from 'node:fs'

/** The environment variable that holds the mark. */
export const RUN_MARK = 'ASKBACK_AGENT_RUN'

/** Stands in a mark in place of the gateway's process. */
const DETACHED = 'detached'

export interface MarkedProcess {
  pid: number
  mark: string
  /** Entries of the form `NAME=value`. */
  environment: string[]
}

export function runMark(sessionId: string, runId: string): string {
  return `${encodeURIComponent(sessionId)}/${gatewayProcessId(process.pid)}/${runId}`
}

export function detachedRunMark(sessionId: string, runId: string): string {
  return `${encodeURIComponent(sessionId)}/${DETACHED}/${runId}`
}

export function killRun(mark: string): void {
  killMarked((found) => found === mark)
}

/** Kills every process of the session's agents, detached ones included. */
export function killSessionProcesses(sessionId: string): void {
  killMarked((found) => isMarkOfSession(found, sessionId))
}

/** Whether the mark is one of this session's runs. */
export function isMarkOfSession(mark: string, sessionId: string): boolean {
  return mark.startsWith(`${encodeURIComponent(sessionId)}/`)
}

/** Kills the processes of all gateways on this machine that do not run any more. */
export function killOrphans(): void {
  killMarked((found) => {
    const [, gateway = ''] = found.split('/')
    return gateway !== DETACHED && gatewayProcessId(Number.parseInt(gateway, 10)) !== gateway
  })
}

/** All processes that carry a mark. Those of other users cannot be read and are left out. */
export function markedProcesses(): MarkedProcess[] {
  const pids = readOrNull(() => readdirSync('/proc'))?.filter((name) => /^\d+$/.test(name)) ?? []
  return pids.flatMap((pid) => {
    const environment = readOrNull(() => readFileSync(`/proc/${pid}/environ`, 'utf8'))?.split('\0') ?? []
    const entry = environment.find((one) => one.startsWith(`${RUN_MARK}=`))
    return entry === undefined
      ? []
      : [{ pid: Number(pid), mark: entry.slice(RUN_MARK.length + 1), environment }]
  })
}

/** Sends a signal to a process, or to a process group if `target` is negative. One that has ended already is no error. */
export function sendSignal(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal)
  } catch {
    // It has ended already.
  }
}

/**
 * Stops all processes before it kills the first one. Otherwise a program could see that its input ends, because the process
 * that held it open was killed first, and would report that to its model as a refusal.
 */
function killMarked(isMeant: (mark: string) => boolean): void {
  const meant = markedProcesses().filter(({ mark }) => isMeant(mark))
  for (const { pid } of meant) sendSignal(pid, 'SIGSTOP')
  for (const { pid } of meant) sendSignal(pid, 'SIGKILL')
}

/**
 * The process id with the start time of the process, because systems reuse process ids. `null` if it does not run.
 */
function gatewayProcessId(pid: number): string | null {
  const stat = readOrNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (stat === null) return pid === process.pid ? `${pid}` : null
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return state === 'Z' ? null : `${pid}.${fields[18]}`
}

function readOrNull<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
