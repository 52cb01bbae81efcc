import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { root } from '../architecture/workspace.js'
import { environment, installAll, run } from '../packed/packages.js'

/** What examples use besides our packages, from where the repository has it. */
const LINKED = {
  express: 'node_modules/express',
  obsidian: 'node_modules/obsidian',
  vite: 'node_modules/vite',
  '@anthropic-ai/claude-agent-sdk': 'tests/agents/node_modules/@anthropic-ai/claude-agent-sdk',
}

/** Longer than anything here takes on a busy machine. */
const PATIENCE_MS = 120_000

export interface InstalledExample {
  readonly folder: string
  /** The home of the person who runs it. */
  readonly home: string
  /** Runs a command of the example to its end, and returns what it printed. */
  readonly run: (command: string, args: string[]) => string
  /** Starts a command of the example. It ends with the test. */
  readonly start: (command: string, args: string[], env?: Record<string, string>) => RunningExample
}

export interface RunningExample {
  /** Everything it has printed so far, on stdout and stderr. */
  readonly printed: () => string
  /** Waits until it has printed a text, and returns what matched. */
  readonly prints: (pattern: RegExp) => Promise<string>
  readonly ended: Promise<number | null>
}

/** A copy of an example, in a folder where all packages are installed from their tarballs. */
export async function installExample(name: string): Promise<InstalledExample> {
  const installed = await installAll()
  const folder = join(installed, 'examples', name)
  rmSync(folder, { recursive: true, force: true })
  cpSync(join(root, 'examples', name), folder, { recursive: true, filter: isSource })
  // Next.js looks for packages in no folder that contains the person's home.
  const home = join(`${installed}-homes`, name)
  rmSync(home, { recursive: true, force: true })
  mkdirSync(home, { recursive: true })
  const env = { ...environment(folder), HOME: home }
  for (const [dependency, source] of Object.entries(LINKED)) {
    const link = join(folder, 'node_modules', dependency)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, source), link)
  }
  return {
    folder,
    home,
    run: (command, args) => run(command, args, { cwd: folder, env }),
    start: (command, args, more) => startProgram(command, args, { cwd: folder, env: { ...env, ...more } }),
  }
}

export function startProgram(
  command: string,
  args: string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): RunningExample {
  // In a process group of its own, because npm does not pass signals on to what it runs. Killed, because a server waits for open streams.
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  onTestFinished(async () => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    await ended
  })
  return {
    ended,
    printed: () => printed,
    async prints(pattern) {
      await expect.poll(() => printed, { timeout: PATIENCE_MS }).toMatch(pattern)
      return pattern.exec(printed)?.[0] ?? ''
    },
  }
}

/** A port that nothing listens on, and that no program gets which asks for any free port. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    await new Promise((resolve) => server.close(resolve))
    if (isFree) return port
  }
}

/** Waits until a server answers there. */
export async function answersAt(url: string): Promise<void> {
  const status = () =>
    fetch(url).then(
      ({ status }) => status,
      () => null,
    )
  await expect.poll(status, { timeout: PATIENCE_MS }).toBe(200)
}

/** Not what somebody who tried the example in the repository has left. */
function isSource(path: string): boolean {
  return !/\/(?:node_modules|dist|\.next|askback\.db[^/]*)$/u.test(path) && existsSync(path)
}
