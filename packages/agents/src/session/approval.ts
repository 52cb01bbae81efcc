/**
 * Asks whether a tool call may run. The permission rules of the desk decide, or the person that they ask.
 *
 * An approval allows one call with exactly the input that was shown. If the agent was lost before it claimed an approval, the
 * approval is kept in `Grants` until the model repeats the call.
 */
import type { ApprovalSettlement, AskOptions, SessionHandle } from '@askback/core'
import { digestOf, type InteractionOf, type Json, type RequestNote } from '@askback/protocol'
import type { CallRequest } from './call-request.js'
import { IN_DOUBT_MESSAGE, refusalMessage } from './model-messages.js'

export interface CallToApprove {
  toolName: string
  input: Json
  title?: string
  description?: string
  reason?: string
  blockedPath?: string
  preview?: Json
  /** What the adapter itself has to tell the person, beside the words of the agent. */
  notes?: RequestNote[]
  edit: NonNullable<AskOptions['edit']>
}

export interface CallRefusal {
  /** For the model. */
  message: string
  /** Whether the message says more than that the call was refused. */
  isExplained: boolean
}

export type ApprovalResult = { isApproved: true; input: Json } | ({ isApproved: false } & CallRefusal)

/** `input` of the result is what may run; the person may have changed it. */
export async function approveCall(
  session: SessionHandle,
  call: CallToApprove,
  request: CallRequest,
  grants: Grants | null,
): Promise<ApprovalResult> {
  const granted = grants?.take(call.toolName, call.input) ?? null
  const approvedBefore = granted ? null : (grants?.approvedBefore(call.toolName) ?? null)
  const settled = await session.approve({
    ...call,
    ...(approvedBefore !== null && differenceFrom(approvedBefore, call)),
    ...request.options,
    // Attaching to the interaction of the interrupted call claims its approval, which works once.
    ...(granted && {
      toolCallId: granted.toolCallId,
      input: granted.request.input,
    }),
  })
  await request.afterSettlement(settled)
  if (settled.settlement !== 'approved') return { isApproved: false, ...refusalOf(settled) }
  if (settled.inDoubt) return { isApproved: false, message: IN_DOUBT_MESSAGE, isExplained: true }
  return { isApproved: true, input: settled.input }
}

/**
 * The same for an agent that accepts a yes or a no, but no other input. `null` means yes. An approval with a changed input
 * is a refusal that asks the model to call the tool again.
 */
export async function refuseCall(
  session: SessionHandle,
  call: CallToApprove,
  request: CallRequest,
  grants: Grants,
): Promise<CallRefusal | null> {
  const result = await approveCall(session, call, request, grants)
  if (!result.isApproved) return result
  const { toolName, input } = call
  if (digestOf(toolName, result.input) === digestOf(toolName, input)) return null
  const wanted = JSON.stringify(result.input)
  const message = `The user wants ${toolName} to run with another input. It has not run. Call it again with exactly this input: ${wanted}`
  return { message, isExplained: true }
}

/** Approvals whose calls were interrupted before they ran. Each one allows one call with the same input, in this turn. */
export class Grants {
  readonly #byDigest = new Map<string, InteractionOf<'approval'>>()

  add(interaction: InteractionOf<'approval'>): void {
    this.#byDigest.set(interaction.updatedDigest ?? interaction.digest, interaction)
  }

  /** The approval of exactly this call. It is removed, so that it allows no second one. */
  take(toolName: string, input: Json): InteractionOf<'approval'> | null {
    const digest = digestOf(toolName, input)
    const found = this.#byDigest.get(digest)
    this.#byDigest.delete(digest)
    return found ?? null
  }

  /** The input of another call of this tool that was approved; `null` if there is none. */
  approvedBefore(toolName: string): Json {
    const approved = [...this.#byDigest.values()].find((item) => item.toolName === toolName)
    return approved ? approvedInput(approved) : null
  }

  clear(): void {
    this.#byDigest.clear()
  }
}

/** Fields for a request that differs from what was approved before: they show both inputs. */
function differenceFrom(
  approved: Json,
  { input, notes = [] }: CallToApprove,
): Pick<CallToApprove, 'notes' | 'preview'> {
  return { notes: [...notes, 'not_as_approved'], preview: { approved, asked: input } }
}

/** The input that was shown, or the one that the person made of it. */
export function approvedInput({ request, answer }: InteractionOf<'approval'>): Json {
  return answer?.updatedInput ?? request.input
}

function refusalOf(settled: Exclude<ApprovalSettlement, { settlement: 'approved' }>): CallRefusal {
  return {
    message: refusalMessage(settled, 'this call'),
    isExplained: settled.settlement === 'denied' && settled.message !== undefined,
  }
}
