/**
 * Runs an agent's program so that it survives a killed gateway, and the next gateway finds it again.
 *
 * The program needs an address at which any process of this machine can connect to it. Each running program has a folder:
 *
 *     log           its error output; the program prints its address there
 *     record.json   what the next gateway needs: `DetachedRecord`. Written once the address is known
 *     gateway       the process id of the gateway that is connected to it
 *
 * A shell watches over the program. It kills the program's group if for some time no gateway runs whose process id is in the
 * file `gateway`. Works on Linux only, because finding the program again needs `/proc`.
 */
import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeEnd, KILL_AFTER_MS, MAX_STDERR_LENGTH, type RunningProgram } from './child-program.js'
import type { Program } from './launch.js'
import { detachedRunMark, killRun, RUN_MARK, sendSignal } from './orphan-processes.js'

const START_POLL_MS = 20
const EXIT_POLL_MS = 200
const START_TIMEOUT_MS = 20_000

/**
 * As long as the gateway that has started the program runs, pipe 3 stays open, and `read` waits without using the processor.
 * After that the shell looks every second whether another gateway has connected.
 *
 * `DetachedProgram.kill` waits for this shell to exit, so the shell must not exit before the program. It therefore ignores
 * SIGTERM from its first line on.
 */
const WATCHER = `
left=$1; owner=$2; shift 2
trap : TERM
"$@" </dev/null 3<&- & program=$!
{
  trap '' TERM
  read -r end <&3
  seconds=$left
  while [ "$seconds" -gt 0 ]; do
    sleep 1
    if read -r gateway <"$owner" && kill -0 "$gateway"; then seconds=$left; else seconds=$((seconds - 1)); fi
  done
  kill -KILL 0
} 2>/dev/null & watch=$!
exec 3<&-
while wait "$program"; code=$?; kill -0 "$program" 2>/dev/null; do :; done
kill -KILL "$watch" 2>/dev/null
exit "$code"`

interface DetachedRecord {
  pid: number
  mark: string
  /** Whatever the adapter needs to connect to it. */
  address: string
  /** Length of the log when the address was found. What comes later are complaints. */
  introduction: number
}

export interface DetachOptions {
  /** Holds one folder for each running program. Only the gateway's user may read it. */
  folder: string
  sessionId: string
  /** How long the program continues without a gateway. */
  seconds: number
  /** Finds the program's address in its error output; `null` until it is there. */
  findAddress: (log: string) => string | null
  /** Kills the program if it aborts before the address is known. */
  signal: AbortSignal
}

export class DetachedProgram implements RunningProgram {
  readonly exited: Promise<void>
  readonly address: string
  readonly #record: DetachedRecord
  #hasExited = false
  #endedHow = ''

  private constructor(folder: string, record: DetachedRecord, exitCode?: Promise<number | null>) {
    this.#record = record
    this.address = record.address
    this.exited = (exitCode ?? this.#pollExit()).then((code) => {
      this.#hasExited = true
      this.#endedHow = describeEnd(complaintsIn(folder, record), code)
      sendSignal(-record.pid, 'SIGKILL')
      killRun(record.mark)
      return rm(folder, { recursive: true, force: true })
    })
  }

  /** Resolves when the address is known. `null` if the program ended or printed none: then it must be run in another way. */
  static async start(
    { command, args, cwd, env }: Program,
    { folder: parent, sessionId, seconds, findAddress, signal }: DetachOptions,
  ): Promise<DetachedProgram | null> {
    const folder = sessionFolder(parent, sessionId)
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const owner = join(folder, 'gateway')
    await writeFile(owner, `${process.pid}\n`)
    const mark = detachedRunMark(sessionId, randomUUID())
    const log = openSync(join(folder, 'log'), 'a', 0o600)
    const child = spawn('/bin/sh', ['-c', WATCHER, 'askback', String(seconds), owner, command, ...args], {
      env: { ...env, [RUN_MARK]: mark },
      stdio: ['ignore', 'ignore', log, 'pipe'],
      detached: true,
      ...(cwd !== undefined && { cwd }),
    })
    closeSync(log)
    child.stdio[3]?.on('error', () => {})
    const ended = new AbortController()
    const exitCode = new Promise<number | null>((resolve) => {
      child.once('exit', resolve)
      child.once('error', () => resolve(null))
    }).finally(() => ended.abort())
    const deadline = Date.now() + START_TIMEOUT_MS
    while (!ended.signal.aborted && !signal.aborted && Date.now() < deadline) {
      const printed = await readFile(join(folder, 'log'), 'utf8')
      const address = findAddress(printed)
      if (address !== null) {
        const record = { pid: child.pid ?? 0, mark, address, introduction: printed.length }
        await writeFile(join(folder, 'record.json'), JSON.stringify(record), { mode: 0o600 })
        return new DetachedProgram(folder, record, exitCode)
      }
      await sleep(START_POLL_MS)
    }
    if (child.pid !== undefined) sendSignal(-child.pid, 'SIGKILL')
    await exitCode
    await rm(folder, { recursive: true, force: true })
    return null
  }

  /** The running program of this session, of which this gateway takes charge. */
  static async find(parent: string, sessionId: string): Promise<DetachedProgram | null> {
    const folder = sessionFolder(parent, sessionId)
    const record = await readRecord(folder)
    if (!record || !isRunning(record)) return null
    await writeFile(join(folder, 'gateway'), `${process.pid}\n`)
    return new DetachedProgram(folder, record)
  }

  /** Removes the folders of programs that ended while no gateway ran. */
  static async removeEnded(parent: string): Promise<void> {
    for (const name of await readdir(parent).catch(() => [])) {
      const folder = join(parent, name)
      const record = await readRecord(folder)
      // A program without a record is being started, perhaps by another gateway.
      const isUsed = record ? isRunning(record) : await hasRunningGateway(folder)
      if (!isUsed) await rm(folder, { recursive: true, force: true })
    }
  }

  get endedHow(): string {
    return this.#endedHow
  }

  async kill(): Promise<void> {
    if (this.#hasExited) return
    sendSignal(-this.#record.pid, 'SIGTERM')
    const timer = setTimeout(() => sendSignal(-this.#record.pid, 'SIGKILL'), KILL_AFTER_MS)
    await this.exited
    clearTimeout(timer)
  }

  /** The program is not this process's child, so the system does not report its exit. */
  async #pollExit(): Promise<null> {
    while (isRunning(this.#record)) await sleep(EXIT_POLL_MS)
    return null
  }
}

export function canDetachPrograms(): boolean {
  return existsSync('/proc/self/environ')
}

function sessionFolder(parent: string, sessionId: string): string {
  return join(parent, createHash('sha256').update(sessionId).digest('hex').slice(0, 32))
}

/** Error output after the introduction. Indented lines at its start still belong to the introduction. */
function complaintsIn(folder: string, { introduction }: DetachedRecord): string {
  try {
    const text = readFileSync(join(folder, 'log'), 'utf8').slice(introduction)
    return text
      .replace(/^( .*\n)+/, '')
      .slice(-MAX_STDERR_LENGTH)
      .trim()
  } catch {
    return ''
  }
}

async function readRecord(folder: string): Promise<DetachedRecord | null> {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `start` writes this file
    return JSON.parse(await readFile(join(folder, 'record.json'), 'utf8')) as DetachedRecord
  } catch {
    // There is none, or the gateway was killed while it wrote it.
    return null
  }
}

async function hasRunningGateway(folder: string): Promise<boolean> {
  const pid = Number(await readFile(join(folder, 'gateway'), 'utf8').catch(() => ''))
  return pid > 0 && existsSync(`/proc/${pid}`)
}

/** Systems reuse process ids, but never with the same mark. */
function isRunning({ pid, mark }: DetachedRecord): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${RUN_MARK}=${mark}`)
  } catch {
    return false
  }
}
