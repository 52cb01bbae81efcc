import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** The process ended before it replied. */
export class ProcessEndedError extends Error {}

/** A process that replies to each message `{ id, call }` with `{ id, reply }`. */
export class Child<Request, Response> {
  readonly #process: ChildProcess
  readonly #unanswered = new Map<
    number,
    { resolve: (reply: Response) => void; reject: (error: Error) => void }
  >()
  readonly #ended: Promise<unknown>
  #calls = 0

  constructor(program: string, env: Record<string, string> = {}, execPath = process.execPath) {
    this.#process = fork(program, {
      execPath,
      execArgv: [],
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#ended = once(this.#process, 'exit').then(() => this.#rejectAll())
    this.#process.on('message', ({ id, reply }: { id: number; reply: Response }) => {
      this.#unanswered.get(id)?.resolve(reply)
      this.#unanswered.delete(id)
    })
  }

  call(call: Request): Promise<Response> {
    const id = this.#calls++
    return new Promise((resolve, reject) => {
      this.#unanswered.set(id, { resolve, reject })
      this.#process.send({ id, call }, (error) => error && this.#rejectAll())
    })
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#ended
  }

  #rejectAll(): void {
    for (const { reject } of this.#unanswered.values())
      reject(new ProcessEndedError('The process has ended.'))
    this.#unanswered.clear()
  }
}
