import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
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

/** The program that was named, by its path or as a command of `PATH`; `undefined` for the one that the SDK brings. */
export async function findProgram(
  executable: string | undefined,
  path: string | undefined,
): Promise<string | undefined> {
  if (executable === undefined) return undefined
  const isCommand = !/[/\\]/.test(executable)
  const places = isCommand ? (path ?? '').split(delimiter).filter(Boolean) : []
  for (const place of isCommand ? places.map((folder) => join(folder, executable)) : [executable]) {
    if (await isProgram(place)) return place
  }
  throw new AskbackError('unavailable', `There is no Claude Code to run at ${executable}.`)
}

function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
