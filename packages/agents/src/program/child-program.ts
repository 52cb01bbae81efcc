/**
 * Runs an agent's program so that nothing of it outlives the gateway.
 *
 * The program runs in a process group of its own, which is killed as a whole. If the gateway is killed, the program must
 * end, too, but without seeing the end of its input: while a tool call is pending, agents take that for a refusal and report
 * it to their model. So a shell starts a relay process between the gateway and the program:
 *
 *     gateway ── stdin ──▶ relay (cat) ── stdin ──▶ program
 *        └────── pipe 3 ────▶ relay
 *
 * When the relay's input ends and nothing was written to pipe 3 (see `finish`), the gateway was killed. The relay then kills
 * the whole group while it still holds the program's stdin open.
 */
import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Program } from './launch.js'
import { killRun, RUN_MARK, runMark, sendSignal } from './orphan-processes.js'

/** Only the end of the error output is shown to a person. */
export const MAX_STDERR_LENGTH = 4000
/** Between SIGTERM and SIGKILL: a program needs about this long to write down its conversation. */
export const KILL_AFTER_MS = 1500
/** A process that has left the group may hold a pipe open for ever. */
const MAX_OUTPUT_WAIT_MS = 1000

/** A running program together with everything that it has started. */
export interface RunningProgram {
  /** Resolves when the program has ended and all its processes are killed. */
  readonly exited: Promise<void>
  /** How it ended, to be appended to its name in a message to a person: ` ended: no licence`. */
  readonly endedHow: string
  /** Asks it to end with SIGTERM, then kills it. */
  kill(): Promise<void>
}

export class ChildProgram implements RunningProgram {
  readonly exited: Promise<void>
  /** Resolves when, in addition, its standard output is read to the end, or another process has held it open too long. */
  readonly outputRead: Promise<void>
  readonly process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #mark: string
  #stderr = ''
  #hasExited = false

  constructor({ command, args, cwd, env }: Program) {
    this.#mark = runMark(env[RUN_MARK] ?? '', randomUUID())
    const supervised = supervisedCommand(command, args)
    this.process = spawn(supervised.command, supervised.args, {
      env: { ...env, [RUN_MARK]: this.#mark },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
      ...(cwd !== undefined && { cwd }),
    })
    this.process.stderr.setEncoding('utf8')
    this.process.stderr.on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR_LENGTH)
    })
    // A pipe breaks when the process ends. Its exit code says more.
    for (const pipe of [this.process.stdin, this.#relayPipe]) pipe?.on('error', () => {})
    this.exited = exitOf(this.process).then(() => {
      this.#hasExited = true
      this.#relayPipe?.destroy()
      this.#signalGroup('SIGKILL')
      killRun(this.#mark)
      // The last of its error output may arrive after its exit.
      return readToEnd(this.process.stderr)
    })
    this.outputRead = this.exited.then(() => readToEnd(this.process.stdout))
  }

  /** The end of its error output. */
  get stderr(): string {
    return this.#stderr.trim()
  }

  get endedHow(): string {
    return describeEnd(this.stderr, this.process.exitCode)
  }

  /** Call this before closing its stdin, so that the program ends by itself instead of being killed. */
  finish(): void {
    allowEndOfInput(this.#relayPipe)
  }

  async kill(): Promise<void> {
    if (this.#hasExited) return
    this.#signalGroup('SIGTERM')
    const timer = setTimeout(() => this.#signalGroup('SIGKILL'), KILL_AFTER_MS)
    await this.exited
    clearTimeout(timer)
  }

  get #relayPipe(): Writable | null {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the options of `spawn` make this a pipe, which is a Duplex
    return this.process.stdio[3] as Writable | null
  }

  #signalGroup(signal: NodeJS.Signals): void {
    if (this.process.pid !== undefined) sendSignal(-this.process.pid, signal)
  }
}

export function describeEnd(stderr: string, exitCode: number | null): string {
  if (stderr !== '') return ` ended: ${stderr}`
  return exitCode === null || exitCode === 0 ? ' ended.' : ` ended with the exit code ${exitCode}.`
}

/** Prints its process id first, so that the supervisor can end it. */
const RELAY = `trap '' TERM; echo $$; cat; read -r end <&3 || kill -KILL 0`

/** The shells print a line about each process that they kill. Their error output is discarded, the program's is not. */
const SUPERVISOR = `
exec 4>&2 2>/dev/null
trap : TERM
sh -c '${RELAY.replaceAll("'", `'\\''`)}' | {
  trap : TERM
  read -r relay
  "$@" 3<&- 2>&4 4>&-
  code=$?
  kill -KILL "$relay"
  exit $code
}`

/** The command that runs a program behind the relay. Its file descriptor 3 must be a pipe. */
export function supervisedCommand(command: string, args: string[]): { command: string; args: string[] } {
  // Windows has neither this shell nor process groups, so the program runs unsupervised.
  if (process.platform === 'win32') return { command, args }
  return { command: '/bin/sh', args: ['-c', SUPERVISOR, 'askback', command, ...args] }
}

/** Tells the relay that the input ends on purpose. */
export function allowEndOfInput(relayPipe: Writable | null): void {
  relayPipe?.write('end\n')
}

async function readToEnd(stream: Readable): Promise<void> {
  const done = new AbortController()
  const { signal } = done
  const timeout = sleep(MAX_OUTPUT_WAIT_MS, undefined, { signal })
  await Promise.race([finished(stream), timeout]).catch(() => {})
  done.abort()
  await timeout.catch(() => {})
}

/** A program that cannot be started counts as one that has exited. */
function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
}
