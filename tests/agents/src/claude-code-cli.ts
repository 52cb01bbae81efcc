import { spawn, type ChildProcess } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { onTestFinished } from 'vitest'
import { claudeEnv } from './claude-session.js'

const program = fileURLToPath(
  new URL(
    `../node_modules/@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`,
    import.meta.url,
  ),
)

export interface ManualStart {
  /** The URL of the scripted model. */
  url: string
  home: string
  cwd: string
  args?: string[]
  env?: Record<string, string>
}

/** Runs `claude -p` to its end, as a person would without Askback, and returns its output. */
export async function claudePrint(
  prompt: string,
  { url, home, cwd, args = [], env }: ManualStart,
): Promise<string> {
  const child = spawn(program, ['-p', prompt, ...args], {
    cwd,
    env: { ...claudeEnv(url, home), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endAfterTest(child)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (data: string) => (output += data))
  child.stderr.setEncoding('utf8').on('data', (data: string) => (output += data))
  await new Promise((resolve) => child.on('close', resolve))
  return output.trim()
}

/** Starts Claude Code in a terminal, where it shows prompts of its own. */
export async function claudeTerminal(
  prompt: string,
  { url, home, cwd, env, mode = 'default' }: ManualStart & { mode?: string },
) {
  const config = join(home, '.claude')
  await mkdir(config, { recursive: true })
  const project = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true }
  const answered = {
    hasCompletedOnboarding: true,
    theme: 'dark',
    customApiKeyResponses: { approved: ['dummy'], rejected: [] },
    projects: { [cwd]: project },
  }
  await writeFile(join(config, '.claude.json'), JSON.stringify(answered))
  const words = [program, '--permission-mode', mode, prompt].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qfec', `stty cols 120 rows 40; exec ${words}`, '/dev/null'], {
    cwd,
    env: { ...claudeEnv(url, home), TERM: 'xterm-256color', LANG: 'C.UTF-8', ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
  endAfterTest(child)
  let raw = ''
  child.stdout.setEncoding('utf8').on('data', (data: string) => (raw += data))
  child.stdin.on('error', () => undefined)
  return {
    press: (keys: string) => child.stdin.write(keys),
    /** Without spaces, because Claude Code separates words by moving the cursor instead. */
    shown: () => stripVTControlCharacters(raw).replaceAll(/\s+/g, ''),
  }
}

function endAfterTest(child: ChildProcess): void {
  const closed = new Promise((resolve) => child.once('close', resolve))
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), 5000)
    await closed
    clearTimeout(late)
  })
}
