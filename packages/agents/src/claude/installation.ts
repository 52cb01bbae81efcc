import { AskbackError } from '@askback/protocol'
import { findProgram } from '../program/installation.js'
import type { ClaudeSdk } from './sdk.js'

/** An optional peer: only who wants Claude installs it. */
const SDK: string = '@anthropic-ai/claude-agent-sdk'

export async function loadSdk(): Promise<ClaudeSdk> {
  try {
    return (await import(SDK)) as ClaudeSdk
  } catch (error) {
    throw new AskbackError('unavailable', `Claude needs the package ${SDK}: npm install ${SDK}`, {
      cause: error,
    })
  }
}

/** The program that was named, by its path or as a command of `PATH`; `undefined` for the one that the SDK brings. */
export async function namedProgram(
  executable: string | undefined,
  path: string | undefined,
): Promise<string | undefined> {
  if (executable === undefined) return undefined
  const found = await findProgram(executable, path)
  if (found === null)
    throw new AskbackError('unavailable', `There is no Claude Code to run at ${executable}.`)
  return found
}
