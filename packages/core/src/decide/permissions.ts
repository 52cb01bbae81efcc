import type { PermissionMode } from '@askback/protocol'

export type Verdict = 'ask' | 'allow'

/**
 * Where an approval's tool would write: `none` if it is no edit tool, `plan_file` for the agent's plan wherever that
 * lies, which only plan mode treats in a way of its own.
 */
export type EditTarget = 'inside' | 'outside' | 'plan_file' | 'none'

export interface Subject {
  kind: string
  edit: EditTarget
  /** Whether a stored rule allows exactly this tool with exactly this input. */
  rule: boolean
}

/** Who decides: a person, or the session's permission mode. No mode ever answers what is not an approval. */
export function judge({ mode, subject }: { mode: PermissionMode; subject: Subject }): Verdict {
  if (subject.kind !== 'approval') return 'ask'
  const entry = table[mode][subject.edit]
  return entry === 'ask_unless_rule' ? (subject.rule ? 'allow' : 'ask') : entry
}

const table: Record<PermissionMode, Record<EditTarget, Verdict | 'ask_unless_rule'>> = {
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
