import { spawn, type ChildProcess } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { expect, onTestFinished } from 'vitest'
import { commandFile as file } from '../e2e/http/command-file.js'

/** Runs the command in a terminal, which the program `script` provides. It is part of every Linux and needs no compiler. */
export class PseudoTerminal {
  /** Every byte that the terminal received since `forget`. */
  raw = ''
  readonly ended: Promise<number | null>
  readonly #child: ChildProcess

  constructor(args: string[], env: Record<string, string>) {
    const command = [process.execPath, file, ...args].map((word) => `'${word}'`).join(' ')
    const { PATH = '' } = process.env
    this.#child = spawn('script', ['-qfec', `stty cols 100 rows 30; exec ${command}`, '/dev/null'], {
      env: { PATH, TERM: 'xterm-256color', LANG: 'C.UTF-8', HOME: '/nonexistent', ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#child.stdin!.on('error', () => undefined)
    this.#child.stdout!.setEncoding('utf8').on('data', (data: string) => (this.raw += data))
    this.ended = new Promise((resolve) => this.#child.on('close', resolve))
    onTestFinished(async () => {
      this.press(keys.ctrlC)
      const late = setTimeout(() => this.#child.kill('SIGKILL'), 5000)
      await this.ended
      clearTimeout(late)
    })
  }

  press(keys: string): void {
    this.#child.stdin!.write(keys)
  }

  /** Waits until these words were printed. */
  async expectText(words: string | RegExp): Promise<void> {
    await expect.poll(() => stripVTControlCharacters(this.raw), { interval: 20 }).toMatch(words)
  }

  forget(): void {
    this.raw = ''
  }
}

export const keys = {
  down: '\u001b[B',
  up: '\u001b[A',
  enter: '\r',
  space: ' ',
  escape: '\u001b',
  ctrlC: '\u0003',
}
