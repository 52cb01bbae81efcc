import { readFileSync, readdirSync } from 'node:fs'

/** In the environment of everything that an agent starts: its session, the gateway's process, and its run. */
export const MARK = 'ASKBACK_AGENT_RUN'

/** Shells that an agent runs are in groups of their own and outlive a program that is killed, but they inherit its mark. */
export function markOf(sessionId: string, run: string): string {
  return `${nameOf(sessionId)}/${gatewayId(process.pid)}/${run}`
}

/** Of a program that outlives its gateway: it sees to its own end. */
export function keptMarkOf(sessionId: string, run: string): string {
  return `${nameOf(sessionId)}/${KEPT}/${run}`
}

const KEPT = 'kept'

/** Ends what one run has left behind. */
export function endRun(mark: string): void {
  endAll((found) => found === mark)
}

/** Ends what agents of this session have left behind. */
export function endSession(sessionId: string): void {
  endAll((found) => found.startsWith(`${nameOf(sessionId)}/`))
}

/** Ends what agents of gateways that are gone have left behind, whatever session it was. */
export function endOrphans(): void {
  endAll((found) => {
    const [, gateway = ''] = found.split('/')
    return gateway !== KEPT && gatewayId(Number.parseInt(gateway, 10)) !== gateway
  })
}

function nameOf(sessionId: string): string {
  return encodeURIComponent(sessionId)
}

export function end(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal)
  } catch {
    // Gone already.
  }
}

/** All stand still before the first of them goes: one that sees the end of its input would take that for an answer. */
function endAll(isMeant: (mark: string) => boolean): void {
  const meant = marked().filter(({ mark }) => isMeant(mark))
  for (const { pid } of meant) end(pid, 'SIGSTOP')
  for (const { pid } of meant) end(pid, 'SIGKILL')
}

/** Found where the system tells the environment of its processes, as Linux does; elsewhere the group has to do. */
function marked(): { pid: number; mark: string }[] {
  const pids = read(() => readdirSync('/proc'))?.filter((name) => /^\d+$/.test(name)) ?? []
  return pids.flatMap((pid) => {
    const environment = read(() => readFileSync(`/proc/${pid}/environ`, 'utf8'))
    const mark = environment?.split('\0').find((entry) => entry.startsWith(`${MARK}=`))
    return mark === undefined ? [] : [{ pid: Number(pid), mark: mark.slice(MARK.length + 1) }]
  })
}

/** A number is used again after a while: the time of its start tells two processes apart. */
function gatewayId(pid: number): string | null {
  const stat = read(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (stat === null) return pid === process.pid ? `${pid}` : null
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return state === 'Z' ? null : `${pid}.${fields[18]}`
}

/** What is gone, or somebody else's, cannot be read. */
function read<T>(reading: () => T): T | null {
  try {
    return reading()
  } catch {
    return null
  }
}
