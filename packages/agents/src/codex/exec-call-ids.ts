/**
 * Finds the ids of tool calls that `codex exec` does not print.
 *
 * A command has the id of its own call in its environment (`CODEX_TOOL_CALL_ID`) and sends it with each request, so the log
 * must use the same id. Codex writes it to the rollout file, in which it records the thread, before it runs the command. Calls
 * inside code mode are not in the file; their id is found only in the environment of the running process.
 */
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRecord } from '@askback/protocol'
import { parseObject } from '../program/ndjson.js'
import { isMarkOfSession, markedProcesses } from '../program/orphan-processes.js'

const MAX_WAIT_MS = 1000
const POLL_MS = 20

export class ExecCallIds {
  readonly #codexHome: string
  readonly #sessionId: string
  readonly #used = new Set<string>()
  #rolloutPath: string | null = null

  constructor(codexHome: string, sessionId: string) {
    this.#codexHome = codexHome
    this.#sessionId = sessionId
  }

  /** Waits a moment for the id to appear; `null` if it does not. Each id is returned once. */
  async find(threadId: string, item: { type: string; command?: string }): Promise<string | null> {
    const deadline = Date.now() + MAX_WAIT_MS
    for (;;) {
      const id = (await this.#findInRollout(threadId, item)) ?? this.#findRunning(item)
      if (id !== undefined) {
        this.#used.add(id)
        return id
      }
      if (Date.now() >= deadline) return null
      await sleep(POLL_MS)
    }
  }

  async #findInRollout(
    threadId: string,
    { type, command }: { type: string; command?: string },
  ): Promise<string | undefined> {
    this.#rolloutPath ??= await findRollout(this.#codexHome, threadId)
    const lines = this.#rolloutPath === null ? [] : await readRollout(this.#rolloutPath)
    for (const payload of lines) {
      const { call_id: id, item } = payload
      if (type === 'file_change' && payload['name'] === 'apply_patch' && this.#isUnused(id)) return id
      if (type !== 'command_execution' || command === undefined) continue
      const written = commandIn(payload)
      if (written !== null && isSameCommand(command, written) && this.#isUnused(id)) return id
      if (payload['type'] !== 'item_completed' || !isRecord(item) || item['type'] !== 'CommandExecution')
        continue
      const words = Array.isArray(item['command']) ? item['command'].join(' ') : ''
      if (isSameCommand(command, words) && this.#isUnused(item['id'])) return item['id']
    }
    return undefined
  }

  /** Of the running commands of this session the one whose command line is most similar. */
  #findRunning({ command }: { command?: string }): string | undefined {
    if (command === undefined) return undefined
    const running = runningCommands(this.#sessionId).filter(({ id }) => this.#isUnused(id))
    const [best] = running.toSorted((a, b) => similarity(command, b.words) - similarity(command, a.words))
    return best && similarity(command, best.words) > 0 ? best.id : undefined
  }

  #isUnused(id: unknown): id is string {
    return typeof id === 'string' && !this.#used.has(id)
  }
}

async function findRollout(codexHome: string, threadId: string): Promise<string | null> {
  const sessions = join(codexHome, 'sessions')
  const names = await readdir(sessions, { recursive: true }).catch(() => [])
  const found = names.find((name) => name.endsWith(`-${threadId}.jsonl`))
  return found === undefined ? null : join(sessions, found)
}

/** The payloads of its lines. The last line may be incomplete, because Codex is writing it. It is left for the next attempt. */
async function readRollout(path: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const { type, payload } = parseObject(line) ?? {}
    return typeof type === 'string' && isRecord(payload) ? [payload] : []
  })
}

/** The command line in the arguments of a tool that runs commands. */
function commandIn(payload: Record<string, unknown>): string | null {
  const { arguments: given, type } = payload
  if (type !== 'function_call' || typeof given !== 'string') return null
  const { cmd, command } = parseObject(given) ?? {}
  if (typeof cmd === 'string') return cmd
  if (typeof command === 'string') return command
  return Array.isArray(command) ? command.join(' ') : null
}

/** Compares without quotes and spaces: `codex exec` quotes the words of a command, the rollout does not. */
function isSameCommand(printed: string, written: string): boolean {
  const bare = (text: string) => text.replaceAll(/['"\\\s]/g, '')
  return written !== '' && bare(printed).endsWith(bare(written))
}

/** How much of a running command line is part of the printed one. They differ if the shell has used `exec`. */
function similarity(printed: string, words: string[]): number {
  return words.reduce((sum, word) => sum + (printed.includes(word) ? word.length : 0), 0)
}

function runningCommands(sessionId: string): { id: string; words: string[] }[] {
  return markedProcesses().flatMap(({ pid, mark, environment }) => {
    if (!isMarkOfSession(mark, sessionId)) return []
    const id = environment.find((entry) => entry.startsWith('CODEX_TOOL_CALL_ID='))?.split('=')[1]
    if (id === undefined) return []
    try {
      return [{ id, words: readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean) }]
    } catch {
      // The process has ended meanwhile.
      return []
    }
  })
}
