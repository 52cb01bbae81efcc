import { access, constants } from 'node:fs/promises'
import { AskbackError } from '@askback/protocol'
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

/** Says so, before it is started, if the program that was named is not there. */
export async function findProgram(executable: string | undefined): Promise<void> {
  if (executable === undefined) return
  try {
    await access(executable, constants.X_OK)
  } catch (error) {
    throw new AskbackError('unavailable', `There is no Claude Code to run at ${executable}.`, {
      cause: error,
    })
  }
}
