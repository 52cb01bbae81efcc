import { isRecord, type StandardSchema } from '@askback/protocol'
import { anyInput, type Verdict, type WaitingCall } from './tool-approval.js'

/** Tool calls that a graph wants to be reviewed, and what it takes as the answer. */
export interface Review {
  actions: Omit<WaitingCall, 'id'>[]
  answer: (verdicts: readonly Verdict[]) => unknown
}

/** The review in the value of an interrupt; `null` if it is something else. */
export function reviewIn(value: unknown): Review | null {
  return middlewareReview(value) ?? inboxReview(value)
}

/** `humanInTheLoopMiddleware` of LangChain: one interrupt for all calls of a message, with one decision for each. */
function middlewareReview(value: unknown): Review | null {
  if (!isRecord(value) || !isRecordList(value.actionRequests) || !isRecordList(value.reviewConfigs))
    return null
  const { actionRequests, reviewConfigs } = value
  const mayEdit = (index: number) => includes(reviewConfigs[index]?.allowedDecisions, 'edit')
  return {
    actions: actionRequests.map(({ name, args, description }, index) => ({
      toolName: String(name),
      input: args,
      ...(typeof description === 'string' && { description }),
      schema: editable(mayEdit(index)),
    })),
    answer: (verdicts) => ({
      decisions: verdicts.map((verdict, index) => {
        if (!verdict.approved) return { type: 'reject', message: verdict.message }
        if (!verdict.isEdited) return { type: 'approve' }
        return { type: 'edit', editedAction: { name: actionRequests[index]!.name, args: verdict.input } }
      }),
    }),
  }
}

/** `HumanInterrupt` of the Agent Inbox: one, or a list, which is answered by a list. */
function inboxReview(value: unknown): Review | null {
  const list: unknown = Array.isArray(value) ? value : [value]
  if (!isRecordList(list) || list.length === 0) return null
  const requests = list.map(({ action_request: request }) => request)
  if (!isRecordList(requests)) return null
  const allows = (index: number, what: string) => {
    const config = list[index]!.config
    return isRecord(config) && config[what] === true
  }
  return {
    actions: requests.map(({ action, args }, index) => ({
      toolName: String(action),
      input: args,
      ...(typeof list[index]!.description === 'string' && { description: list[index]!.description }),
      schema: editable(allows(index, 'allow_edit')),
    })),
    answer: (verdicts) =>
      verdicts.map((verdict, index) => {
        if (!verdict.approved) {
          return allows(index, 'allow_respond')
            ? { type: 'response', args: verdict.message }
            : { type: 'ignore', args: null }
        }
        if (!verdict.isEdited) return { type: 'accept', args: null }
        return { type: 'edit', args: { action: requests[index]!.action, args: verdict.input } }
      }),
  }
}

/** The graph checks an edited input itself; where it takes none, an edit is refused. */
function editable(mayEdit: boolean): StandardSchema | undefined {
  return mayEdit ? anyInput : undefined
}

function isRecordList(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.every((each) => isRecord(each))
}

function includes(list: unknown, value: string): boolean {
  return Array.isArray(list) && list.includes(value)
}
