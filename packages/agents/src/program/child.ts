import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { end, endRun, MARK, markOf } from './leftovers.js'
import { letItEnd, supervised } from './supervision.js'

export const STDERR_KEPT = 4000
/** Long enough to write down its conversation. */
export const GRACE_MS = 1500
/** Who has got away from the group may hold its pipe for ever. */
const HELD_MS = 1000

export interface Program {
  command: string
  args: string[]
  cwd?: string
  env: { [name: string]: string | undefined }
}

/** A program that runs, and whatever it has started. */
export interface Running {
  readonly gone: Promise<void>
  /** How it ended, to go behind its name in a message to a person. */
  readonly ending: string
  /** Asks it to end, then makes it. */
  kill(): Promise<void>
}

/** The agent's own program, in a process group of its own: whatever it starts goes with it. */
export class AgentChild implements Running {
  readonly gone: Promise<void>
  /** It is gone, and what it wrote to its output has been read, unless somebody else holds that open. */
  readonly outputRead: Promise<void>
  readonly process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #mark: string
  #stderr = ''
  #isGone = false

  constructor({ command, args, cwd, env }: Program) {
    this.#mark = markOf(env[MARK] ?? '', randomUUID())
    const run = supervised(command, args)
    this.process = spawn(run.command, run.args, {
      env: { ...env, [MARK]: this.#mark },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
      ...(cwd !== undefined && { cwd }),
    })
    this.process.stderr.setEncoding('utf8')
    this.process.stderr.on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT)
    })
    // A pipe that breaks because the process is gone says nothing that its exit does not.
    for (const pipe of [this.process.stdin, this.#relay]) pipe?.on('error', () => {})
    this.gone = ended(this.process).then(() => {
      this.#isGone = true
      this.#relay?.destroy()
      this.#signal('SIGKILL')
      endRun(this.#mark)
      // What it said last may come after its exit.
      return readToEnd(this.process.stderr)
    })
    this.outputRead = this.gone.then(() => readToEnd(this.process.stdout))
  }

  /** The end of what it wrote to its error output. */
  get complaint(): string {
    return this.#stderr.trim()
  }

  get ending(): string {
    return endingOf(this.complaint, this.process.exitCode)
  }

  /** Lets it end by itself once its input has ended. */
  finish(): void {
    letItEnd(this.#relay)
  }

  async kill(): Promise<void> {
    if (this.#isGone) return
    this.#signal('SIGTERM')
    const timer = setTimeout(() => this.#signal('SIGKILL'), GRACE_MS)
    await this.gone
    clearTimeout(timer)
  }

  get #relay(): Writable | null {
    return this.process.stdio[3] as Writable | null
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.process.pid !== undefined) end(-this.process.pid, signal)
  }
}

export function endingOf(complaint: string, code: number | null): string {
  if (complaint !== '') return ` ended: ${complaint}`
  return code === null || code === 0 ? ' ended.' : ` ended with the exit code ${code}.`
}

async function readToEnd(stream: Readable): Promise<void> {
  const over = new AbortController()
  const { signal } = over
  const late = sleep(HELD_MS, undefined, { signal })
  await Promise.race([finished(stream), late]).catch(() => {})
  over.abort()
  await late.catch(() => {})
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
}
