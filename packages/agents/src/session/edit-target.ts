import {
  editTarget,
  realFolder,
  targetOfPaths,
  type AskOptions,
  type EditScope,
  type SessionHandle,
} from '@askback/core'
import type { Json } from '@askback/protocol'
import { readLink } from './read-link.js'

type EditTarget = NonNullable<AskOptions['edit']>

/**
 * What an agent's edits are measured by. Its folders are resolved once: the agent may replace them by links to anywhere while it
 * runs. What the session recorded when it was made takes precedence, as an agent can be restarted after that.
 */
export function editScopeOf(
  session: SessionHandle,
  { cwd, plans = null }: { cwd: string | null; plans?: string | null },
): () => Promise<EditScope> {
  const realCwd = cwd === null ? Promise.resolve(null) : realFolder(cwd, readLink)
  const realPlans = plans === null ? Promise.resolve(null) : realFolder(plans, readLink)
  return async () => {
    const scope = await session.editScope(cwd)
    const recorded = scope.realCwd
    return {
      ...scope,
      realCwd: recorded === undefined ? await realCwd : recorded,
      plans,
      realPlans: await realPlans,
    }
  }
}

/** What a call of a tool with a well-known name would write, for the permission table. */
export function targetOfCall(toolName: string, input: Json, scope: EditScope): Promise<EditTarget> {
  return editTarget({ toolName, input }, scope, readLink)
}

/** The same for an agent that names the files itself. */
export function targetOfFiles(paths: readonly string[], scope: EditScope): Promise<EditTarget> {
  return targetOfPaths(paths, scope, readLink)
}
