import { readlink } from 'node:fs/promises'
import type { EditScope, SessionHandle } from '@askback/core'
import { editTarget, linkReader, realFolder, targetOfPaths, type EditTarget } from '@askback/core/internal'
import type { Json } from '@askback/protocol'

export const readLink = linkReader(readlink)

/**
 * The folders by which the permission rules tell edits inside the session's folder from others. They are resolved once,
 * because an agent may replace them by symbolic links while it runs. What the session recorded when it was created takes
 * precedence, because the agent may have been restarted since.
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

/** What a call of a tool with a well-known name, such as `Write`, would edit. */
export function targetOfCall(toolName: string, input: Json, scope: EditScope): Promise<EditTarget> {
  return editTarget({ toolName, input }, scope, readLink)
}

/** The same for an agent that names the files itself. */
export function targetOfFiles(paths: readonly string[], scope: EditScope): Promise<EditTarget> {
  return targetOfPaths(paths, scope, readLink)
}
