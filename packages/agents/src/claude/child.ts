import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import type { SpawnedClaude, SpawnRequest } from './sdk.js'

const STDERR_KEPT = 4000
/** Long enough to write down its conversation. */
const GRACE_MS = 1500

/** The agent's own program, in a process group of its own: whatever it starts goes with it. */
export class ClaudeChild {
  readonly gone: Promise<void>
  readonly process: SpawnedClaude
  #stderr = ''
  #isGone = false

  constructor({ command, args, cwd, env }: SpawnRequest) {
    this.process = spawn(command, args, {
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
      ...(cwd !== undefined && { cwd }),
    })
    this.process.stderr.setEncoding('utf8')
    this.process.stderr.on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT)
    })
    // A pipe that breaks because the process is gone says nothing that its exit does not.
    this.process.stdin.on('error', () => {})
    this.gone = ended(this.process).then(() => {
      this.#isGone = true
      this.#signalAll('SIGKILL', [])
    })
  }

  get pid(): number | undefined {
    return this.process.pid
  }

  /** The end of what it wrote to its error output, for a message to a person. */
  get complaint(): string {
    return this.#stderr.trim()
  }

  /** Asks it to end, then makes it, and everything that it has started. */
  async kill(): Promise<void> {
    if (this.#isGone) return
    const started = descendants(this.pid)
    this.#signalAll('SIGTERM', [])
    const timer = setTimeout(() => this.#signalAll('SIGKILL', started), GRACE_MS)
    await this.gone
    clearTimeout(timer)
    this.#signalAll('SIGKILL', started)
  }

  #signalAll(signal: NodeJS.Signals, started: number[]): void {
    for (const target of [...(this.pid === undefined ? [] : [-this.pid]), ...started]) {
      try {
        process.kill(target, signal)
      } catch {
        // Gone already.
      }
    }
  }
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
}

/** Shells that the agent runs are in groups of their own, so they are looked for one by one, where the system tells. */
function descendants(pid: number | undefined): number[] {
  if (pid === undefined) return []
  const children = new Map<number, number[]>()
  for (const { id, parent } of processes()) children.set(parent, [...(children.get(parent) ?? []), id])
  const found: number[] = []
  const look = (parent: number) => {
    for (const id of children.get(parent) ?? []) {
      found.push(id)
      look(id)
    }
  }
  look(pid)
  return found
}

function processes(): { id: number; parent: number }[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        const parent = parentOf(name)
        return parent === null ? [] : [{ id: Number(name), parent }]
      })
  } catch {
    // Not Linux: the group has to do.
    return []
  }
}

function parentOf(pid: string): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold anything.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return null
  }
}
