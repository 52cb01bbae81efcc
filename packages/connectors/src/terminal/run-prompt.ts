import { Prompt } from '@clack/core'
import type { Readable, Writable } from 'node:stream'

export interface Streams {
  input: Readable
  output: Writable
}

/** Leaves nothing of itself behind when it is over. */
export abstract class PassingPrompt<Value> extends Prompt<Value> {
  constructor(streams: Streams, draw: () => string, how: { takesText: boolean; draft?: string }) {
    const { takesText, draft } = how
    super(
      {
        ...streams,
        ...(draft !== undefined && { initialUserInput: draft }),
        render: () => (this.isOver ? '' : draw()),
      },
      takesText,
    )
  }

  get isOver(): boolean {
    return this.state === 'submit' || this.state === 'cancel'
  }

  end(state: 'submit' | 'cancel'): void {
    this.state = state
    // Not for others to call, says the library's type; but only it can take its frame away.
    ;(this as unknown as { render(): void }).render()
    this.close()
  }
}

/** Asks until it is answered or `signal` aborts. */
export async function runPrompt(
  prompt: PassingPrompt<unknown>,
  signal: AbortSignal,
  output: Writable,
): Promise<'done' | 'aborted' | 'cancelled'> {
  const abort = () => prompt.end('cancel')
  signal.addEventListener('abort', abort, { once: true })
  await prompt.prompt()
  signal.removeEventListener('abort', abort)
  // It ends with an empty line of its own.
  output.write('\u001b[1A')
  if (signal.aborted && prompt.state === 'cancel') return 'aborted'
  return prompt.state === 'cancel' ? 'cancelled' : 'done'
}
