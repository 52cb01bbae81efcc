import { editTarget, targetOfPaths, type AskOptions, type EditScope } from '@askback/core'
import type { Json } from '@askback/protocol'
import { readLink } from './read-link.js'

type EditTarget = NonNullable<AskOptions['edit']>

/** What a call of a tool with a well-known name would write, for the permission table. */
export function targetOfCall(toolName: string, input: Json, scope: EditScope): Promise<EditTarget> {
  return editTarget({ toolName, input }, scope, readLink)
}

/** The same for an agent that names the files itself. */
export function targetOfFiles(paths: readonly string[], scope: EditScope): Promise<EditTarget> {
  return targetOfPaths(paths, scope, readLink)
}
