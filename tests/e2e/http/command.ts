import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn, type ChildProcess } from 'node:child_process'
import { afterAll } from 'vitest'
import { commandFile } from './command-file.js'

export { commandFile as file } from './command-file.js'

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

export interface Ready {
  url: string
  openUrl: string
  token: string
  agentToken: string
  pid: number
}

export interface CommandExit {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface CommandOptions {
  cwd?: string
  /** Written to stdin, which is then closed. */
  stdin?: string
  /** Runs as another user, if the tests are allowed to. */
  uid?: number
}

/** One process of the command. */
export class Command {
  stdout = ''
  stderr = ''
  readonly ended: Promise<CommandExit>
  readonly #child: ChildProcess

  constructor(args: string[], env: Record<string, string> = {}, { cwd, stdin, uid }: CommandOptions = {}) {
    const { PATH, HOME } = process.env
    const inherited = { ...(PATH && { PATH }), ...(HOME && { HOME }), CI: '1' }
    this.#child = spawn(process.execPath, [commandFile, ...args], {
      env: { ...inherited, ...env },
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      ...(cwd !== undefined && { cwd }),
      ...(uid !== undefined && { uid }),
    })
    this.#child.stdin?.end(stdin)
    this.#child.stdout?.setEncoding('utf8').on('data', (data: string) => (this.stdout += data))
    this.#child.stderr?.setEncoding('utf8').on('data', (data: string) => (this.stderr += data))
    this.ended = new Promise((resolve) => {
      this.#child.on('close', (code, signal) => resolve({ code, signal }))
    })
  }

  kill(signal: NodeJS.Signals): Promise<CommandExit> {
    this.#child.kill(signal)
    return this.ended
  }

  /** The line that it prints when it is ready. Rejects if it exits before. */
  async ready(): Promise<Ready> {
    const line = new Promise<string>((resolve) => {
      const readLine = () => {
        const end = this.stdout.indexOf('\n')
        if (end >= 0) resolve(this.stdout.slice(0, end))
      }
      this.#child.stdout?.on('data', readLine)
      readLine()
    })
    const early = this.ended.then(({ code }) => {
      throw new Error(`It ended with ${code} before it was ready: ${this.stderr}`)
    })
    return JSON.parse(await Promise.race([line, early])) as Ready
  }
}

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'askback-e2e-'))
  folders.push(folder)
  return folder
}
