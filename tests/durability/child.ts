import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** The process ended before it answered. */
export class GoneError extends Error {}

/** A process that answers each `{ id, call }` with `{ id, reply }`. */
export class Child<Call, Reply> {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>()
  readonly #ended: Promise<unknown>
  #calls = 0

  constructor(program: string, env: Record<string, string> = {}) {
    this.#process = fork(program, {
      execArgv: [],
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#ended = once(this.#process, 'exit').then(() => this.#gone())
    this.#process.on('message', ({ id, reply }: { id: number; reply: Reply }) => {
      this.#waiting.get(id)?.resolve(reply)
      this.#waiting.delete(id)
    })
  }

  call(call: Call): Promise<Reply> {
    const id = this.#calls++
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#process.send({ id, call }, (error) => error && this.#gone())
    })
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#ended
  }

  #gone(): void {
    for (const { reject } of this.#waiting.values()) reject(new GoneError('The process is gone.'))
    this.#waiting.clear()
  }
}
