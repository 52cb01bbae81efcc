import type { Json, PermissionMode } from '@askback/protocol'

/**
 * What a process asks of the one that runs a session's agent. It can be executed twice, so it names the turn or the message
 * that it is about: the log tells whether anything is left to do.
 */
export type AgentCommand = { sessionId: string } &
  /** Look at the log. `messageId`: a message that no agent was given before this was sent. */
  (
    | { do: 'attend'; messageId?: string }
    | { do: 'interrupt'; turnId: string }
    /** Without `turnId` if no turn was open. */
    | { do: 'clear'; turnId?: string }
    | { do: 'setPermissionMode'; mode: PermissionMode }
  )

export function commandFrom(json: Json): AgentCommand {
  // Only processes of this kind write there.
  return json as unknown as AgentCommand
}

export function jsonOf(command: AgentCommand): Json {
  return { ...command }
}
