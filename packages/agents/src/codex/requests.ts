import type { AskOptions, Clock, EditScope, SessionHandle } from '@askback/core'
import { AskbackError, copyJson, type Json } from '@askback/protocol'
import { refusalOfCall, type AskedCall } from '../session/approved.js'
import { asking, type Asking } from '../session/asking.js'
import { elicit } from '../session/elicitation.js'
import { targetOfFiles } from '../session/edit-target.js'
import type { Grants } from '../session/grants.js'
import { refusalOf, type Refused } from '../session/refusal.js'
import type { Params } from '../program/peer.js'
import type {
  CommandApproval,
  Decision,
  FileChange,
  FileChangeApproval,
  McpElicitation,
  PermissionsApproval,
  UserInputRequest,
} from './app-server.js'
import { COMMAND, PATCH, QUESTION } from './items.js'

export interface RequestPorts {
  session: SessionHandle
  editScope: () => Promise<EditScope>
  clock: Clock
  grants: Grants
  timeoutMs?: number | null
  /** Aborts when the turn is interrupted or the process ends. */
  signal: () => AbortSignal
  /** Puts a call into the log that the program has not told of. */
  announce(call: { toolCallId: string; toolName: string; input: Json }): Promise<void>
  end(toolCallId: string, output: Json, isError: boolean): Promise<void>
  changesOf(itemId: string): FileChange[]
  /** The last call to an MCP server that has not ended: what that server asks belongs to it. */
  callTo(serverName: string): { toolCallId: string; toolName: string; input: Json } | null
  /** Whether this call had asked already when its gateway went down: then it asks the same again. */
  hasAsked: (toolCallId: string | undefined) => boolean
  /** Says something to the model that the answer itself has no room for. */
  tell(text: string): Promise<void>
  /** Of the thread that asks, if it is not the session's own. */
  agentOf: (threadId: string) => string | undefined
}

/** What `codex app-server` asks, put to the session's person. */
export async function answerRequest(method: string, params: Params, ports: RequestPorts): Promise<unknown> {
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return { decision: await command(params as unknown as CommandApproval, ports) }
    case 'item/fileChange/requestApproval':
      return { decision: await fileChange(params as unknown as FileChangeApproval, ports) }
    case 'item/permissions/requestApproval':
      return permissions(params as unknown as PermissionsApproval, ports)
    case 'item/tool/requestUserInput':
      return userInput(params as unknown as UserInputRequest, ports)
    case 'mcpServer/elicitation/request':
      return elicitation(params as unknown as McpElicitation, ports)
    default:
      throw new AskbackError('invalid_request', `Askback does not answer ${method}.`)
  }
}

async function command(asked: CommandApproval, ports: RequestPorts): Promise<Decision> {
  const { itemId, threadId, command: line, cwd, reason, kind, networkApprovalContext: network } = asked
  const call = { command: line ?? '', ...(cwd && { cwd }) }
  await ports.announce({ toolCallId: itemId, toolName: COMMAND, input: call })
  // What sets this request apart from a plain run of the same command is part of what is approved.
  const input = copyJson(
    {
      ...call,
      ...(reason && { reason }),
      ...(network && { network }),
      ...(kind !== undefined && kind !== 'command' && { kind }),
    },
    'input',
  )
  return decide({ toolName: COMMAND, input, edit: 'none', ...(reason && { reason }) }, asked, threadId, ports)
}

async function fileChange(asked: FileChangeApproval, ports: RequestPorts): Promise<Decision> {
  const { itemId, threadId, reason, grantRoot } = asked
  const changes = ports.changesOf(itemId)
  const input = copyJson({ changes, ...(grantRoot && { grantRoot }) }, 'input')
  await ports.announce({ toolCallId: itemId, toolName: PATCH, input })
  const edit = grantRoot ? 'outside' : await placeOf(changes, ports)
  return decide({ toolName: PATCH, input, edit, ...(reason && { reason }) }, asked, threadId, ports)
}

async function placeOf(changes: FileChange[], { editScope }: RequestPorts): Promise<AskedCall['edit']> {
  const paths = changes.flatMap(({ path, kind }) => [path, ...(kind.move_path ? [kind.move_path] : [])])
  return targetOfFiles(paths, await editScope())
}

async function decide(
  call: AskedCall,
  { itemId }: { itemId: string },
  threadId: string,
  ports: RequestPorts,
): Promise<Decision> {
  const ask = askingAbout(itemId, call.toolName, threadId, ports)
  const refused = await interruptible(ask, () => refusalOfCall(ports.session, call, ask, ports.grants))
  if (refused === INTERRUPTED) return 'cancel'
  if (refused === null) return 'accept'
  await ports.tell(refused.why)
  return 'decline'
}

async function permissions(asked: PermissionsApproval, ports: RequestPorts): Promise<object> {
  const { itemId, threadId, reason, cwd } = asked
  const toolName = 'request_permissions'
  const input = copyJson({ permissions: asked.permissions, cwd }, 'input')
  await ports.announce({ toolCallId: itemId, toolName, input })
  // Codex knows nothing shorter than a turn.
  const title = 'Permissions until the end of this turn'
  const call = { toolName, input, title, edit: 'none' as const, ...(reason && { reason }) }
  const isGranted = (await decide(call, asked, threadId, ports)) === 'accept'
  await ports.end(itemId, isGranted ? 'Granted for this turn.' : 'Not granted.', !isGranted)
  return { permissions: isGranted ? asked.permissions : {}, scope: 'turn' }
}

async function userInput(asked: UserInputRequest, ports: RequestPorts): Promise<object> {
  const { itemId, threadId, questions } = asked
  await ports.announce({
    toolCallId: itemId,
    toolName: QUESTION,
    input: copyJson({ questions }, 'questions'),
  })
  const ask = askingAbout(itemId, QUESTION, threadId, ports)
  const refuse = async (why: string) => {
    await ports.end(itemId, why, true)
    await ports.tell(why)
    return { answers: {} }
  }
  if (questions.some(({ isSecret }) => isSecret))
    return refuse(
      'Secrets are not asked here: what is typed stays in the log. Let the user set it elsewhere.',
    )
  const settled = await interruptible(ask, async () => {
    const result = await ports.session.ask({
      questions: questions.map(({ header, question, options }) => ({
        header,
        question,
        options: (options ?? []).map(({ label, description }) => ({ label, description })),
        multiSelect: false,
      })),
      ...ask.options,
    })
    await ask.settled(result)
    return result
  })
  if (settled === INTERRUPTED) return { answers: {} }
  if (settled.settlement !== 'answered') return refuse(refusalOf(settled as Refused, 'the question'))
  const answers = Object.fromEntries(
    settled.answer.answers.map(({ selected, other, note }, index) => [
      questions[index]!.id,
      {
        answers: [
          ...selected,
          ...(other === undefined ? [] : [other]),
          ...(note === undefined ? [] : [note]),
        ],
      },
    ]),
  )
  await ports.end(itemId, copyJson({ answers }, 'answers'), false)
  return { answers }
}

async function elicitation(asked: McpElicitation, ports: RequestPorts): Promise<object> {
  const { serverName, threadId, message, mode, url, requestedSchema, _meta } = asked
  const call = ports.callTo(serverName)
  if (_meta?.['codex_approval_kind'] === 'mcp_tool_call') {
    const toolName = call?.toolName ?? `mcp__${serverName}`
    const input = call?.input ?? copyJson(_meta['tool_params'] ?? {}, 'input')
    const toolCallId = call?.toolCallId
    const asking: AskedCall = { toolName, input, title: message, edit: 'none' }
    const ask = askingAbout(toolCallId, toolName, threadId, ports)
    const refused = await interruptible(ask, () => refusalOfCall(ports.session, asking, ask, ports.grants))
    if (refused === INTERRUPTED) return { action: 'cancel', content: null, _meta: null }
    if (refused !== null) await ports.tell(refused.why)
    return {
      action: refused === null ? 'accept' : 'decline',
      content: refused === null ? {} : null,
      _meta: null,
    }
  }
  const ask = askingAbout(call?.toolCallId, call?.toolName ?? `mcp__${serverName}`, threadId, ports)
  try {
    const result = await elicit(
      ports.session,
      {
        serverName,
        message,
        mode: mode === 'url' ? 'url' : 'form',
        ...(url !== undefined && { url }),
        ...(requestedSchema && { requestedSchema }),
      },
      // A call may ask more than once: each time is a request of its own.
      { ...ask.options, attach: ports.hasAsked(call?.toolCallId) },
    )
    return { action: result.action, content: result.content ?? null, _meta: null }
  } catch (error) {
    const isRefused = error instanceof AskbackError && error.code === 'invalid_request'
    return { action: isRefused ? 'decline' : 'cancel', content: null, _meta: null }
  }
}

function askingAbout(
  toolCallId: string | undefined,
  toolName: string,
  threadId: string,
  { signal, timeoutMs, clock, agentOf }: RequestPorts,
): Asking {
  const agentId = agentOf(threadId)
  const options: AskOptions & { signal: AbortSignal } = {
    toolName,
    signal: signal(),
    ...(toolCallId !== undefined && { toolCallId, attach: true }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(agentId !== undefined && { agentId }),
  }
  return asking(options, clock)
}

const INTERRUPTED = Symbol('interrupted')

/** An interrupt is no answer of anybody. */
async function interruptible<T>(ask: Asking, use: () => Promise<T>): Promise<T | typeof INTERRUPTED> {
  try {
    return await use()
  } catch (error) {
    if (ask.options.signal.aborted) return INTERRUPTED
    throw error
  }
}
