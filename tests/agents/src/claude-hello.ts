import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { claudeSession } from './claude-session.js'
import { programsOf } from './processes.js'
import type { Scenario } from './scenario.js'

export function run(command: string) {
  return { tool: 'Bash', input: { command, description: 'Runs' } }
}

/** What every test may say. */
export const small: Scenario[] = [
  { when: 'say hello', steps: [{ say: [{ text: 'Hello again.' }] }] },
  { when: 'sleep long', steps: [{ say: [run('touch started; tail -f /dev/null')] }] },
]

/** The program, what watches over it, its shell and what that runs. */
export async function atLeast(count: number, home: string): Promise<number[]> {
  for (;;) {
    const pids = programsOf(home)
    if (pids.length >= count) return pids
    await sleep(50)
  }
}

/** A turn that goes well, as the last of so many. */
export async function hello(
  session: Awaited<ReturnType<typeof claudeSession>>,
  turns: number,
): Promise<void> {
  await session.say('say hello')
  expect((await session.until('turn_ended', turns)).at(-1)).toMatchObject({ reason: 'done' })
}
