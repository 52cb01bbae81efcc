import { readdirSync, readFileSync } from 'node:fs'

/** The processes that run with this home: the agent's program, what watches over it, and what it runs. */
export function programsOf(home: string, name = ''): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids
    .map(Number)
    .filter((pid) => hasHome(pid, home) && read(pid, 'comm').includes(name) && isAlive(pid))
    .toSorted((a, b) => a - b)
}

function hasHome(pid: number, home: string): boolean {
  return read(pid, 'environ').split('\0').includes(`HOME=${home}`)
}

/** Nothing of a process that has ended meanwhile. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/** The agent's program itself. */
export function programOf(home: string): number {
  const [pid] = programsOf(home, 'claude')
  if (pid === undefined) throw new Error(`No program runs with the home ${home}.`)
  return pid
}

/** Kills them as if in one moment: none of them gets to see that another one has ended. */
export function killAtOnce(pids: number[]): void {
  for (const signal of ['SIGSTOP', 'SIGKILL'] as const) for (const pid of pids) kill(pid, signal)
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Gone already.
  }
}

/** Whether it runs: one that has ended and waits to be collected by its parent does not. */
export function isAlive(pid: number): boolean {
  const stat = read(pid, 'stat')
  return stat !== '' && stat[stat.lastIndexOf(')') + 2] !== 'Z'
}
