import { connect, NotAnswered } from '@askback/client'
import { appendFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/*
 * What the programs of all frameworks share. Each runs an agent whose model is a script: it first calls the tools that the test names, and
 * then says what it got as their results. The test kills the program at any time and starts it again; what ran is in a file, a line for each run.
 */

export interface ScriptedCall {
  id: string
  tool: 'deploy' | 'ask'
  input: { version: string } | { question: string; choices?: string[] }
}

export interface RunRequest {
  key: string
  calls: ScriptedCall[]
  timeout?: number
}

export type RunReply = { text: string } | { error: string; reason?: string }

const {
  ASKBACK_TEST_URL: url = '',
  ASKBACK_TEST_TOKEN: token = '',
  ASKBACK_TEST_FOLDER: folder = '',
} = process.env

export const session = connect({ url, token }).session('work')

/** A file in which the framework keeps a run that waits. */
export function stateFile(name: string): string {
  return `${folder}/${name}`
}

export async function deploy({ version }: { version: string }): Promise<string> {
  appendFileSync(`${folder}/runs`, `${version}\n`)
  if (version.startsWith('slow')) await pause(60_000)
  return `deployed ${version}`
}

/** What the scripted model says at the end. */
export function report(results: unknown): string {
  return `The tools returned ${JSON.stringify(results)}`
}

/** Runs the agent at each message of the test. */
export function serve(run: (request: RunRequest) => Promise<string>): void {
  process.on('message', ({ id, call }: { id: number; call: RunRequest }) => {
    run(call).then(
      (text) => process.send?.({ id, reply: { text } }),
      (error: unknown) => {
        const reason = error instanceof NotAnswered ? { reason: error.reason } : {}
        process.send?.({ id, reply: { error: String(error), ...reason } })
      },
    )
  })
}
