import type { AskOptions, SessionHandle } from '@askback/core'
import { digestOf, type Json } from '@askback/protocol'
import type { Asking } from './asking.js'
import type { Grants } from './grants.js'
import { IN_DOUBT, refusalOf, type Refused } from './refusal.js'

export interface AskedCall {
  toolName: string
  input: Json
  title?: string
  reason?: string
  preview?: Json
  edit: NonNullable<AskOptions['edit']>
}

export interface Refusal {
  /** What the model should be told. */
  why: string
  /** Whether it says more than no. */
  isWorded: boolean
}

/** Whether a call may run, of an agent that takes a yes or a no and cannot be given another input: `null` for yes. */
export async function refusalOfCall(
  session: SessionHandle,
  call: AskedCall,
  ask: Asking,
  grants: Grants,
): Promise<Refusal | null> {
  const granted = grants.take(call.toolName, call.input)
  const settled = await session.approve({
    ...call,
    ...(!granted && grants.differs(call.toolName, call.input)),
    ...ask.options,
    // An approval from before a restart stands at the call that was cut: attaching to it claims it, once.
    ...(granted && { toolCallId: granted.toolCallId }),
  })
  await ask.settled(settled)
  if (settled.settlement !== 'approved') {
    const refused = settled as Refused
    return {
      why: refusalOf(refused, 'this call'),
      isWorded: settled.settlement === 'denied' && settled.message !== undefined,
    }
  }
  if (settled.inDoubt) return { why: IN_DOUBT, isWorded: true }
  const { toolName, input } = call
  if (digestOf(toolName, settled.input) === digestOf(toolName, input)) return null
  const wanted = JSON.stringify(settled.input)
  const why = `The user wants ${toolName} to run with another input. It has not run. Call it again with exactly this input: ${wanted}`
  return { why, isWorded: true }
}
