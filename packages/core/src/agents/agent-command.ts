import type { Json, PermissionMode } from '@askback/protocol'

/**
 * A command to the process that runs a session's agent. It may be executed twice, so it names the turn or message that it is about:
 * the log shows whether anything is left to do.
 */
export type AgentCommand = { sessionId: string } &
  /** Compare the agent with the log. `messageId`: a message that no agent had received when this was sent. */
  (
    | { do: 'attend'; messageId?: string }
    | { do: 'interrupt'; turnId: string }
    /** Without `turnId` if no turn was open. */
    | { do: 'clear'; turnId?: string }
    | { do: 'setPermissionMode'; mode: PermissionMode }
  )

export function commandFrom(json: Json): AgentCommand {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `jsonOf` makes what is in a mailbox
  return json as unknown as AgentCommand
}

export function jsonOf(command: AgentCommand): Json {
  return { ...command }
}
