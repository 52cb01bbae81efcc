import type { Json, PermissionMode } from '@askback/protocol'

/** What a process asks of the one that runs a session's agent. */
export type Letter = { sessionId: string } & (
  | { do: 'send'; text: string; turnId: string }
  | { do: 'interrupt' }
  | { do: 'clear' }
  | { do: 'stop' }
  | { do: 'setPermissionMode'; mode: PermissionMode }
)

export function letterOf(json: Json): Letter {
  // Only processes of this kind write there.
  return json as unknown as Letter
}

export function jsonOf(letter: Letter): Json {
  return { ...letter }
}
