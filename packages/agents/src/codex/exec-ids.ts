import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { MARK } from '../program/leftovers.js'
import { commandIn, findRollout, readRollout } from './rollout.js'

const WAIT_MS = 1000
const STEP_MS = 20

/**
 * The ids of calls that `codex exec` does not tell. A command finds its own in its environment, and asks with it, so the
 * log must know the call by it. The program writes it down before it runs the command; that of a call inside code mode is
 * found only at the process that runs.
 */
export class ExecIds {
  readonly #codexHome: string
  readonly #sessionId: string
  readonly #used = new Set<string>()
  #path: string | null = null

  constructor(codexHome: string, sessionId: string) {
    this.#codexHome = codexHome
    this.#sessionId = sessionId
  }

  /** `null` if it is nowhere to be found. */
  async find(threadId: string, item: { type: string; command?: string }): Promise<string | null> {
    const deadline = Date.now() + WAIT_MS
    for (;;) {
      const id = await this.#look(threadId, item)
      if (id !== undefined) {
        this.#used.add(id)
        return id
      }
      if (Date.now() >= deadline) return null
      await sleep(STEP_MS)
    }
  }

  async #look(
    threadId: string,
    { type, command }: { type: string; command?: string },
  ): Promise<string | undefined> {
    this.#path ??= await findRollout(this.#codexHome, threadId)
    const lines = this.#path === null ? [] : await readRollout(this.#path)
    const free = (id: unknown): id is string => typeof id === 'string' && !this.#used.has(id)
    for (const { payload } of lines) {
      const { call_id: id, item } = payload
      if (type === 'file_change' && payload['name'] === 'apply_patch' && free(id)) return id
      if (type !== 'command_execution' || command === undefined) continue
      const line = commandIn(payload)
      if (line !== null && isSame(command, line) && free(id)) return id
      const ended = item as { id?: string; type?: string; command?: string[] } | undefined
      const isCommand = payload['type'] === 'item_completed' && ended?.type === 'CommandExecution'
      if (isCommand && isSame(command, ended?.command?.join(' ') ?? '') && free(ended?.id)) return ended?.id
    }
    if (command === undefined) return undefined
    const running = runningCalls(this.#sessionId).filter(({ id }) => free(id))
    const [best] = running.toSorted((a, b) => likeness(command, b.words) - likeness(command, a.words))
    return best && likeness(command, best.words) > 0 ? best.id : undefined
  }
}

/** One quotes the words of a command, the other does not: what is left is compared. */
function isSame(told: string, written: string): boolean {
  const bare = (text: string) => text.replaceAll(/['"\\\s]/g, '')
  return written !== '' && bare(told).endsWith(bare(written))
}

/** How much of a running command line is found in the one that was told: a shell may have given way to what it runs. */
function likeness(told: string, words: string[]): number {
  return words.reduce((sum, word) => sum + (told.includes(word) ? word.length : 0), 0)
}

/** Where the system tells: the commands of a session's agent that run, with the id that they were given. */
function runningCalls(sessionId: string): { id: string; words: string[] }[] {
  return pids().flatMap((pid) => {
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
      if (!environment.some((entry) => entry.startsWith(`${MARK}=${sessionId}/`))) return []
      const id = environment.find((entry) => entry.startsWith('CODEX_TOOL_CALL_ID='))?.split('=')[1]
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean)
      return id === undefined ? [] : [{ id, words }]
    } catch {
      // Gone, or somebody else's.
      return []
    }
  })
}

function pids(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}
