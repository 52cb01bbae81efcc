import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'

/** The processes that run with this home: the agent's program, what watches over it, and what it runs. */
export async function programsOf(home: string, name = ''): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(
    pids.map(async (pid) => {
      try {
        const env = await readFile(`/proc/${pid}/environ`, 'utf8')
        const comm = await readFile(`/proc/${pid}/comm`, 'utf8')
        return env.split('\0').includes(`HOME=${home}`) && comm.includes(name) && isAlive(pid) ? pid : null
      } catch {
        return null
      }
    }),
  )
  return found.filter((pid) => pid !== null).toSorted((a, b) => a - b)
}

/** The agent's program itself. */
export async function programOf(home: string): Promise<number> {
  const [pid] = await programsOf(home, 'claude')
  if (pid === undefined) throw new Error(`No program runs with the home ${home}.`)
  return pid
}

/** Whether it runs: one that has ended and waits to be collected by its parent does not. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat[stat.lastIndexOf(')') + 2] !== 'Z'
  } catch {
    return false
  }
}
