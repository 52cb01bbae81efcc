import { createInterface } from 'node:readline'

/** Asks whoever sits at the terminal. Anything but yes is no. */
export async function agreed(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  // Ctrl-C and Ctrl-D close it without an answer.
  const answer = await new Promise<string>((resolve) => {
    lines.once('close', () => resolve(''))
    lines.question(`${question} [y/N] `, resolve)
  })
  lines.close()
  return /^y(es)?$/i.test(answer.trim())
}
