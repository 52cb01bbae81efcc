import { readdirSync, readFileSync } from 'node:fs'

/** The processes with this home: the agent's program, its supervisor, and what it runs. */
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

/** Empty if the process has ended meanwhile. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/** The process id of Claude Code. */
export function programOf(home: string): number {
  const [pid] = programsOf(home, 'claude')
  if (pid === undefined) throw new Error(`No program runs with the home ${home}.`)
  return pid
}

/** Stops all of them before it kills the first, so that none sees another one end. */
export function killAtOnce(pids: number[]): void {
  for (const signal of ['SIGSTOP', 'SIGKILL'] as const) for (const pid of pids) kill(pid, signal)
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended already.
  }
}

/** A zombie process, whose parent has not read its exit code, does not count. */
export function isAlive(pid: number): boolean {
  const stat = read(pid, 'stat')
  return stat !== '' && stat[stat.lastIndexOf(')') + 2] !== 'Z'
}
