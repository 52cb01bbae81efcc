/** Answers the requests of `codex app-server`: opens an interaction for each one, and translates its settlement. */
import type { EditScope, SessionHandle } from '@askback/core'
import { AskbackError, copyJson, type Json } from '@askback/protocol'
import { refuseCall, type CallRefusal, type CallToApprove, type Grants } from '../session/approval.js'
import { requestForCall, type CallRequest, type CallRequestPorts } from '../session/call-request.js'
import { targetOfFiles } from '../session/edit-scope.js'
import { elicit } from '../session/elicitation.js'
import { chosenLabels, refusalMessage } from '../session/model-messages.js'
import type {
  ApprovalDecision,
  CodexProtocol,
  CommandApproval,
  FileChange,
  FileChangeApproval,
  ItemReference,
  McpElicitation,
  PermissionsApproval,
  UserInputRequest,
} from './app-server-protocol.js'
import { COMMAND_TOOL, PATCH_TOOL, QUESTION_TOOL } from './events.js'

export interface RequestPorts extends CallRequestPorts {
  session: SessionHandle
  editScope: () => Promise<EditScope>
  grants: Grants
  /** Logs a call that Codex may not have reported yet. */
  logCall(call: { toolCallId: string; toolName: string; input: Json }): Promise<void>
  logResult(toolCallId: string, output: Json, isError: boolean): Promise<void>
  changesOf(itemId: string): FileChange[]
  /** The last unfinished call to an MCP server: an elicitation names only the server. */
  lastCallTo(serverName: string): { toolCallId: string; toolName: string; input: Json } | null
  /** Whether the call had a pending request when its gateway was killed. Codex then sends the same request again. */
  hasPendingRequest: (toolCallId: string | undefined) => boolean
  /** Sends the model a message in the running turn, because a refusal itself cannot contain words. */
  tellModel(text: string): Promise<void>
  /** The id of a thread that is not the session's own, but that of a subagent. */
  agentIdOf: (threadId: string) => string | undefined
}

/** Throws `invalid_request` for a method that is not known here. */
export async function answerRequest(
  { method, params }: CodexProtocol['request'],
  ports: RequestPorts,
): Promise<unknown> {
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return { decision: await approveCommand(params, ports) }
    case 'item/fileChange/requestApproval':
      return { decision: await approveFileChange(params, ports) }
    case 'item/permissions/requestApproval':
      return approvePermissions(params, ports)
    case 'item/tool/requestUserInput':
      return askQuestions(params, ports)
    case 'mcpServer/elicitation/request':
      return answerElicitation(params, ports)
    default:
      throw new AskbackError('invalid_request', `Askback does not answer ${String(method)}.`)
  }
}

async function approveCommand(asked: CommandApproval, ports: RequestPorts): Promise<ApprovalDecision> {
  const { itemId, command, cwd, reason, kind, networkApprovalContext: network } = asked
  const call = { command: command ?? '', ...(cwd && { cwd }) }
  await ports.logCall({ toolCallId: itemId, toolName: COMMAND_TOOL, input: call })
  // Whatever distinguishes this request from a plain run of the command is part of what the person approves.
  const input = copyJson(
    {
      ...call,
      ...(reason && { reason }),
      ...(network && { network }),
      ...(kind !== undefined && kind !== 'command' && { kind }),
    },
    'input',
  )
  return decide({ toolName: COMMAND_TOOL, input, edit: 'none', ...(reason && { reason }) }, asked, ports)
}

async function approveFileChange(asked: FileChangeApproval, ports: RequestPorts): Promise<ApprovalDecision> {
  const { itemId, reason, grantRoot } = asked
  const changes = ports.changesOf(itemId)
  const input = copyJson({ changes, ...(grantRoot && { grantRoot }) }, 'input')
  await ports.logCall({ toolCallId: itemId, toolName: PATCH_TOOL, input })
  const paths = changes.flatMap(({ path, kind }) => [path, ...(kind.move_path ? [kind.move_path] : [])])
  const edit = grantRoot ? 'outside' : await targetOfFiles(paths, await ports.editScope())
  return decide({ toolName: PATCH_TOOL, input, edit, ...(reason && { reason }) }, asked, ports)
}

async function approvePermissions(asked: PermissionsApproval, ports: RequestPorts): Promise<object> {
  const { itemId, reason, cwd } = asked
  const toolName = 'request_permissions'
  const input = copyJson({ permissions: asked.permissions, cwd }, 'input')
  await ports.logCall({ toolCallId: itemId, toolName, input })
  // Codex has no shorter scope than a turn.
  const title = 'Permissions until the end of this turn'
  const call = { toolName, input, title, edit: 'none' as const, ...(reason && { reason }) }
  const isGranted = (await decide(call, asked, ports)) === 'accept'
  await ports.logResult(itemId, isGranted ? 'Granted for this turn.' : 'Not granted.', !isGranted)
  return { permissions: isGranted ? asked.permissions : {}, scope: 'turn' }
}

async function decide(
  call: CallToApprove,
  { itemId: toolCallId, threadId }: ItemReference,
  ports: RequestPorts,
): Promise<ApprovalDecision> {
  const refused = await askApproval(call, toolCallId, threadId, ports)
  if (refused === INTERRUPTED) return 'cancel'
  return refused === null ? 'accept' : 'decline'
}

/** Returns `null` if the call is approved. Otherwise the model gets the reason. */
async function askApproval(
  call: CallToApprove,
  toolCallId: string | undefined,
  threadId: string,
  ports: RequestPorts,
): Promise<CallRefusal | null | typeof INTERRUPTED> {
  const { toolName } = call
  const request = requestForCall({ toolCallId, toolName, agentId: ports.agentIdOf(threadId) }, ports)
  const refused = await interruptible(request, () => refuseCall(ports.session, call, request, ports.grants))
  if (refused !== INTERRUPTED && refused !== null) await ports.tellModel(refused.message)
  return refused
}

async function askQuestions(asked: UserInputRequest, ports: RequestPorts): Promise<object> {
  const { itemId: toolCallId, threadId, questions } = asked
  const toolName = QUESTION_TOOL
  await ports.logCall({ toolCallId, toolName, input: copyJson({ questions }, 'questions') })
  const request = requestForCall({ toolCallId, toolName, agentId: ports.agentIdOf(threadId) }, ports)
  const refuse = async (message: string) => {
    await ports.logResult(toolCallId, message, true)
    await ports.tellModel(message)
    return { answers: {} }
  }
  if (questions.some(({ isSecret }) => isSecret))
    return refuse(
      'Secrets are not asked here: what is typed stays in the log. Let the user set it elsewhere.',
    )
  const settled = await interruptible(request, async () => {
    const result = await ports.session.ask({
      questions: questions.map(({ header, question, options }) => ({
        header,
        question,
        options: (options ?? []).map(({ label, description }) => ({ label, description })),
        multiSelect: false,
      })),
      ...request.options,
    })
    await request.afterSettlement(result)
    return result
  })
  if (settled === INTERRUPTED) return { answers: {} }
  if (settled.settlement !== 'answered') return refuse(refusalMessage(settled, 'the question'))
  const answers = Object.fromEntries(
    settled.answer.answers.map((reply, index) => [
      questions[index]!.id,
      { answers: [...chosenLabels(reply), ...(reply.note === undefined ? [] : [reply.note])] },
    ]),
  )
  await ports.logResult(toolCallId, copyJson({ answers }, 'answers'), false)
  return { answers }
}

async function answerElicitation(asked: McpElicitation, ports: RequestPorts): Promise<object> {
  const { serverName, threadId, message, mode, url, requestedSchema, _meta } = asked
  const call = ports.lastCallTo(serverName)
  const toolCallId = call?.toolCallId
  const toolName = call?.toolName ?? `mcp__${serverName}`
  // Codex asks for the approval of an MCP tool with an elicitation, too.
  if (_meta?.['codex_approval_kind'] === 'mcp_tool_call') {
    const input = call?.input ?? copyJson(_meta['tool_params'] ?? {}, 'input')
    const toApprove: CallToApprove = { toolName, input, title: message, edit: 'none' }
    const refused = await askApproval(toApprove, toolCallId, threadId, ports)
    if (refused === INTERRUPTED) return { action: 'cancel', content: null, _meta: null }
    const isApproved = refused === null
    return { action: isApproved ? 'accept' : 'decline', content: isApproved ? {} : null, _meta: null }
  }
  const request = requestForCall({ toolCallId, toolName, agentId: ports.agentIdOf(threadId) }, ports)
  const { action, content = null } = await elicit(
    ports.session,
    { serverName, message, mode, url, requestedSchema },
    // One call may elicit several times, so each request is a new one, unless Codex repeats it.
    { ...request.options, attach: ports.hasPendingRequest(toolCallId) },
  )
  return { action, content, _meta: null }
}

const INTERRUPTED = Symbol('interrupted')

/** An interrupt is no answer of a person, so it must not be reported as a refusal. */
async function interruptible<T>(
  { options: { signal } }: CallRequest,
  ask: () => Promise<T>,
): Promise<T | typeof INTERRUPTED> {
  try {
    return await ask()
  } catch (error) {
    if (signal.aborted) return INTERRUPTED
    throw error
  }
}
