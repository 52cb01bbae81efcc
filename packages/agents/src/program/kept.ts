import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endingOf, GRACE_MS, STDERR_KEPT, type Program, type Running } from './child.js'
import { end, endRun, keptMarkOf, MARK } from './leftovers.js'

const STEP_MS = 20
const START_MS = 20_000

/**
 * Runs a program that outlives the gateway, and ends it with all that it has started if for that many seconds no gateway
 * runs whose number stands in the file. Until the first one is gone that is heard on a pipe, for nothing. Who asks it to end
 * waits for this shell, so the shell must not go before the program: it is deaf to that from its first line on.
 */
const WATCH = `
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

/** What the next gateway must know of it. */
interface Note {
  pid: number
  mark: string
  /** Whatever the adapter needs to speak to it. */
  address: string
  /** How much it had written until its address was known. */
  introduction: number
}

/** A program that a gateway leaves running if it is killed, and that the next one finds again. */
export class KeptProgram implements Running {
  readonly gone: Promise<void>
  readonly address: string
  readonly #note: Note
  #isGone = false
  #ending = ''

  private constructor(folder: string, note: Note, exited?: Promise<number | null>) {
    this.#note = note
    this.address = note.address
    this.gone = (exited ?? this.#watch()).then((code) => {
      this.#isGone = true
      this.#ending = endingOf(complaintIn(folder, note), code)
      end(-note.pid, 'SIGKILL')
      endRun(note.mark)
      return rm(folder, { recursive: true, force: true })
    })
  }

  /**
   * Starts it, and waits until it says on its error output where it can be spoken to. `null` if it does not: then it has to
   * be run in another way.
   */
  static async start(
    { command, args, cwd, env }: Program,
    { folder, sessionId, seconds, address, signal }: KeepOptions,
  ): Promise<KeptProgram | null> {
    const place = placeOf(folder, sessionId)
    await rm(place, { recursive: true, force: true })
    await mkdir(place, { recursive: true, mode: 0o700 })
    const owner = join(place, 'gateway')
    await writeFile(owner, `${process.pid}\n`)
    const mark = keptMarkOf(sessionId, randomUUID())
    const log = openSync(join(place, 'log'), 'a', 0o600)
    const child = spawn('/bin/sh', ['-c', WATCH, 'askback', String(seconds), owner, command, ...args], {
      env: { ...env, [MARK]: mark },
      stdio: ['ignore', 'ignore', log, 'pipe'],
      detached: true,
      ...(cwd !== undefined && { cwd }),
    })
    closeSync(log)
    child.stdio[3]?.on('error', () => {})
    const over = new AbortController()
    const exited = new Promise<number | null>((resolve) => {
      child.once('exit', resolve)
      child.once('error', () => resolve(null))
    }).finally(() => over.abort())
    const deadline = Date.now() + START_MS
    while (!over.signal.aborted && !signal.aborted && Date.now() < deadline) {
      const said = await readFile(join(place, 'log'), 'utf8')
      const found = address(said)
      if (found !== null) {
        const note: Note = { pid: child.pid ?? 0, mark, address: found, introduction: said.length }
        await writeFile(join(place, 'note.json'), JSON.stringify(note), { mode: 0o600 })
        return new KeptProgram(place, note, exited)
      }
      await sleep(STEP_MS)
    }
    if (child.pid !== undefined) end(-child.pid, 'SIGKILL')
    await exited
    await rm(place, { recursive: true, force: true })
    return null
  }

  /** The one that an earlier gateway has left running for this session. */
  static async find(folder: string, sessionId: string): Promise<KeptProgram | null> {
    const place = placeOf(folder, sessionId)
    const note = await noteIn(place)
    if (!note || !isRunning(note)) return null
    await writeFile(join(place, 'gateway'), `${process.pid}\n`)
    return new KeptProgram(place, note)
  }

  /** Removes the notes of those that have come to their end without a gateway. */
  static async tidy(folder: string): Promise<void> {
    for (const name of await readdir(folder).catch(() => [])) {
      const place = join(folder, name)
      const note = await noteIn(place)
      // One without a note is just being started, perhaps by another gateway.
      if (note ? !isRunning(note) : !(await hasGateway(place)))
        await rm(place, { recursive: true, force: true })
    }
  }

  get ending(): string {
    return this.#ending
  }

  async kill(): Promise<void> {
    if (this.#isGone) return
    end(-this.#note.pid, 'SIGTERM')
    const timer = setTimeout(() => end(-this.#note.pid, 'SIGKILL'), GRACE_MS)
    await this.gone
    clearTimeout(timer)
  }

  /** It is nobody's child any more, so that its end is not told. */
  async #watch(): Promise<null> {
    while (isRunning(this.#note)) await sleep(STEP_MS * 10)
    return null
  }
}

export interface KeepOptions {
  /** Where notes of running programs are kept, for nobody else to read. */
  folder: string
  sessionId: string
  /** How long it goes on without a gateway. */
  seconds: number
  /** Where it can be spoken to, found in what it has written to its error output. */
  address: (log: string) => string | null
  /** Ends it before it has said that. */
  signal: AbortSignal
}

/** Only where the system tells the environment of its processes can one be found again. */
export function canKeep(): boolean {
  return existsSync('/proc/self/environ')
}

function placeOf(folder: string, sessionId: string): string {
  return join(folder, createHash('sha256').update(sessionId).digest('hex').slice(0, 32))
}

/** Without how it has introduced itself. */
function complaintIn(place: string, { introduction }: Note): string {
  try {
    const text = readFileSync(join(place, 'log'), 'utf8').slice(introduction)
    return text
      .replace(/^( .*\n)+/, '')
      .slice(-STDERR_KEPT)
      .trim()
  } catch {
    return ''
  }
}

async function noteIn(place: string): Promise<Note | null> {
  try {
    return JSON.parse(await readFile(join(place, 'note.json'), 'utf8')) as Note
  } catch {
    // There is none, or the gateway was killed while it wrote it.
    return null
  }
}

async function hasGateway(place: string): Promise<boolean> {
  const pid = Number(await readFile(join(place, 'gateway'), 'utf8').catch(() => ''))
  return pid > 0 && existsSync(`/proc/${pid}`)
}

/** A number is used again after a while, but not with the same mark. */
function isRunning({ pid, mark }: Note): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`${MARK}=${mark}`)
  } catch {
    return false
  }
}
