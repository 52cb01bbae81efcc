import type { PermissionMode } from '@askback/protocol'

export type PermissionDecision = 'ask' | 'allow'

/**
 * Where the tool of an approval would write, compared with the session's folder: `none` if it is not an edit tool, `plan_file`
 * for the agent's plan file in any folder (only plan mode treats it differently).
 */
export type EditTarget = 'inside' | 'outside' | 'plan_file' | 'none'

export interface PermissionSubject {
  kind: string
  edit: EditTarget
  /** Whether a stored rule allows this tool with this input. */
  rule: boolean
}

/** Whether the session's permission mode and rules allow an approval without a person. Other kinds are always asked. */
export function decidePermission({
  mode,
  subject,
}: {
  mode: PermissionMode
  subject: PermissionSubject
}): PermissionDecision {
  if (subject.kind !== 'approval') return 'ask'
  const entry = table[mode][subject.edit]
  return entry === 'ask_unless_rule' ? (subject.rule ? 'allow' : 'ask') : entry
}

const table: Record<PermissionMode, Record<EditTarget, PermissionDecision | 'ask_unless_rule'>> = {
  default: {
    inside: 'ask_unless_rule',
    outside: 'ask_unless_rule',
    plan_file: 'ask_unless_rule',
    none: 'ask_unless_rule',
  },
  acceptEdits: {
    inside: 'allow',
    outside: 'ask_unless_rule',
    plan_file: 'ask_unless_rule',
    none: 'ask_unless_rule',
  },
  plan: {
    inside: 'ask',
    outside: 'ask_unless_rule',
    plan_file: 'allow',
    none: 'ask_unless_rule',
  },
  bypassPermissions: {
    inside: 'allow',
    outside: 'allow',
    plan_file: 'allow',
    none: 'allow',
  },
}
