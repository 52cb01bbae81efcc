import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import type { SpawnedClaude, SpawnRequest } from './sdk.js'

const STDERR_KEPT = 4000
const SETPRIV = '/usr/bin/setpriv'
/** In the environment of everything that an agent starts: its session, and then its run. */
export const MARK = 'ASKBACK_AGENT_RUN'
/** Long enough to write down its conversation. */
const GRACE_MS = 1500

/** The agent's own program, in a process group of its own: whatever it starts goes with it. */
export class ClaudeChild {
  readonly gone: Promise<void>
  readonly process: SpawnedClaude
  readonly #mark: string
  #stderr = ''
  #isGone = false

  constructor({ command, args, cwd, env }: SpawnRequest) {
    this.#mark = `${env[MARK] ?? ''}/${randomUUID()}`
    const [program, ...given] = withItsParent(command, args)
    this.process = spawn(program, given, {
      env: { ...env, [MARK]: this.#mark },
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
      this.#signal('SIGKILL', marked(this.#mark))
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
    this.#signal('SIGTERM', [])
    const timer = setTimeout(() => this.#signal('SIGKILL', []), GRACE_MS)
    await this.gone
    clearTimeout(timer)
  }

  #signal(signal: NodeJS.Signals, started: number[]): void {
    for (const target of [...(this.pid === undefined ? [] : [-this.pid]), ...started]) end(target, signal)
  }
}

/**
 * Ends the program with us, however we end, where the system can: without us it would take the silence for a denial and
 * tell its model so.
 */
function withItsParent(command: string, args: string[]): [string, ...string[]] {
  if (!existsSync(SETPRIV)) return [command, ...args]
  return [SETPRIV, '--pdeathsig', 'KILL', command, ...args]
}

/** Ends what an agent of this session has left behind: after a gateway was killed, its shells. */
export function endLeftovers(sessionId: string): void {
  for (const pid of marked(`${sessionId}/`)) end(pid, 'SIGKILL')
}

function end(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal)
  } catch {
    // Gone already.
  }
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
}

/**
 * Shells that the agent runs are in groups of their own, and outlive a program that is killed. They have inherited its
 * mark, so they are found by that where the system tells.
 */
function marked(mark: string): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && environmentOf(name).includes(`${MARK}=${mark}`))
      .map(Number)
  } catch {
    // Not Linux: the group has to do.
    return []
  }
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    // Gone, or somebody else's.
    return ''
  }
}
