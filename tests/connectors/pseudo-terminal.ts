import { spawn, type ChildProcess } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { expect, onTestFinished } from 'vitest'
import { commandFile as file } from './command-file.js'

/** The command in a terminal: `script` has been on every Linux for decades, and needs no compiler. */
export class PseudoTerminal {
  /** Every byte, as a terminal would get it. */
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

  /** Waits until a person could have read it, after what was read before. */
  async sees(words: string | RegExp): Promise<void> {
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
