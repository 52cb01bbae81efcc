import type { AskOptions, EditScope, SessionHandle } from '@askback/core'
import { copyJson, type ApprovalRequest, type Json } from '@askback/protocol'
import type { Asking } from '../session/asking.js'
import { targetOfCall } from '../session/edit-target.js'
import type { Grants } from '../session/grants.js'
import type { Call } from './hooks.js'
import { IN_DOUBT, refusalOf, type Refused } from '../session/refusal.js'
import type { PermissionResult } from './sdk.js'

interface Place {
  editScope: () => Promise<EditScope>
  /** Approvals that a restart kept from their calls. */
  grants: Grants | null
}

/** Whether a tool may run. The permission table of the desk decides, and whoever it asks. */
export async function approve(
  session: SessionHandle,
  call: Call,
  ask: Asking,
  { editScope, grants }: Place,
): Promise<PermissionResult> {
  const { toolName, title, description, decisionReason, blockedPath } = call
  const asked = copyJson(call.input, 'input')
  const granted = grants?.take(toolName, asked) ?? null
  const input = granted ? (granted.request as ApprovalRequest).input : asked
  const settled = await session.approve({
    toolName,
    input,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(decisionReason !== undefined && { reason: decisionReason }),
    ...(blockedPath !== undefined && { blockedPath }),
    ...(!granted && grants?.differs(toolName, input)),
    edit: await targetOfCall(toolName, asked, await editScope()),
    ...place(ask.options, granted),
  })
  await ask.settled(settled)
  if (settled.settlement !== 'approved')
    return { behavior: 'deny', message: refusalOf(settled as Refused, 'this call') }
  if (settled.inDoubt) return { behavior: 'deny', message: IN_DOUBT }
  return { behavior: 'allow', updatedInput: recordOf(settled.input) }
}

/** An approval that was given before a restart stands at the call that was cut: attaching to it claims it, once. */
function place(options: AskOptions, granted: { toolCallId: string } | null): AskOptions {
  return granted ? { ...options, toolCallId: granted.toolCallId } : options
}

function recordOf(input: Json): Record<string, Json> {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input
  throw new Error('The input of a tool must be an object.')
}
