/** The part of the protocol of `codex app-server` that is used here. `codex app-server generate-ts` prints all of it. */
import type { Json } from '@askback/protocol'

/** The result of `thread/start` and `thread/resume`. */
export interface ThreadOpened {
  thread: { id: string; status?: { type: string }; turns?: CodexTurn[] }
  model: string
  /** The settings in effect. They may differ from the requested ones. */
  approvalPolicy?: string | Record<string, unknown>
  approvalsReviewer?: string
  collaborationMode?: { mode: string } | null
}

export interface CodexTurn {
  id: string
  status: 'completed' | 'interrupted' | 'failed' | 'inProgress'
  error?: { message: string; additionalDetails?: string | null } | null
  items?: ThreadItem[]
}

export type ThreadItem = { id: string; status?: string } & (
  | { type: 'userMessage'; clientId?: string | null }
  | { type: 'agentMessage'; text: string }
  | { type: 'reasoning'; summary: string[]; content: string[] }
  | { type: 'plan'; text: string }
  | {
      type: 'commandExecution'
      command: string
      cwd: string
      aggregatedOutput: string | null
      exitCode: number | null
    }
  | { type: 'fileChange'; changes: FileChange[] }
  | {
      type: 'mcpToolCall'
      server: string
      tool: string
      arguments: unknown
      result: { content?: unknown } | null
      error: { message: string } | null
    }
  | { type: 'webSearch'; query?: string }
  | { type: 'other' }
)

export interface FileChange {
  path: string
  kind: { type: 'add' | 'delete' | 'update'; move_path?: string | null }
  diff: string
}

/** Identifies the item that a request is about. */
export interface ItemReference {
  threadId: string
  turnId: string
  itemId: string
}

export interface CommandApproval extends ItemReference {
  kind?: string
  approvalId?: string | null
  command?: string | null
  cwd?: string | null
  reason?: string | null
  networkApprovalContext?: object | null
}

export interface FileChangeApproval extends ItemReference {
  reason?: string | null
  grantRoot?: string | null
}

export interface PermissionsApproval extends ItemReference {
  cwd: string
  reason: string | null
  permissions: object
}

export interface UserInputRequest extends ItemReference {
  questions: UserInputQuestion[]
}

export interface UserInputQuestion {
  id: string
  header: string
  question: string
  isSecret: boolean
  options: { label: string; description: string }[] | null
}

export interface McpElicitation {
  threadId: string
  turnId: string | null
  serverName: string
  mode: 'form' | 'url' | (string & {})
  message: string
  requestedSchema?: Record<string, unknown>
  url?: string
  _meta?: Record<string, unknown> | null
}

/** What Codex may send. Other methods are refused or ignored. */
export interface CodexProtocol {
  request:
    | { method: 'item/commandExecution/requestApproval'; params: CommandApproval }
    | { method: 'item/fileChange/requestApproval'; params: FileChangeApproval }
    | { method: 'item/permissions/requestApproval'; params: PermissionsApproval }
    | { method: 'item/tool/requestUserInput'; params: UserInputRequest }
    | { method: 'mcpServer/elicitation/request'; params: McpElicitation }
  notification:
    | ThreadNotification
    | { method: 'turn/completed'; params: { threadId: string; turn: CodexTurn } }
}

export type ThreadNotification =
  | { method: 'item/started' | 'item/completed'; params: { threadId: string; item: ThreadItem } }
  | {
      method:
        | 'item/agentMessage/delta'
        | 'item/reasoning/summaryTextDelta'
        | 'item/commandExecution/outputDelta'
      params: ItemReference & { delta: string }
    }
  | { method: 'turn/plan/updated'; params: { threadId: string; plan: Json; explanation?: string | null } }
  | {
      method: 'thread/tokenUsage/updated'
      params: { threadId: string; tokenUsage: { last: { inputTokens: number; outputTokens: number } } }
    }
  | { method: 'error'; params: { threadId: string; error: { message: string }; willRetry: boolean } }

export type ApprovalDecision = 'accept' | 'decline' | 'cancel'
