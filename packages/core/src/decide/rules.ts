import {
  AskbackError,
  canonicalJson,
  comparedInput,
  digestOf,
  sha256Hex,
  type Actor,
  type Json,
} from '@askback/protocol'
import type { KvWrite } from '../store/store.js'

/**
 * Approves one tool with one input in advance: in one session, or always in one folder for one agent. Fields of the input that do not
 * change what runs (`comparedInput`) are left out.
 */
export type ApprovalRule = {
  id: string
  toolName: string
  input: Json
  by?: Actor
  at: number
} & ({ scope: 'session'; sessionId: string } | { scope: 'always'; cwd: string; agent: string | null })

/** The parts of a session that a rule can be bound to. */
export interface RuleBounds {
  sessionId: string
  cwd: string | null
  agent: string | null
}

export const RULES_PREFIX = 'rule/'
const ALWAYS_RULES_PREFIX = `${RULES_PREFIX}always/`

/** These rules are deleted with their session. */
export function sessionRulesPrefix(sessionId: string): string {
  return `${RULES_PREFIX}session/${sessionId}/`
}

/**
 * The keys of rules that would allow this call: it is allowed if any of them exists. Rules that were stored before `comparedInput` and
 * `folderOf` existed have the digest of the whole input and the folder as it was written.
 */
export function ruleKeys(
  { sessionId, cwd, agent }: RuleBounds,
  { toolName, input, digest }: { toolName: string; input: Json; digest: string },
): string[] {
  const runs = comparedInput(toolName, input)
  const digests = runs === input ? [digest] : [digestOf(toolName, runs), digest]
  const keys = digests.map((each) => `${sessionRulesPrefix(sessionId)}${each}`)
  if (cwd === null) return keys
  for (const folder of new Set([folderOf(cwd), cwd])) {
    const scope = folderAndAgentHash(folder, agent)
    for (const each of digests) keys.push(`${ALWAYS_RULES_PREFIX}${scope}/${each}`)
  }
  return keys
}

/** The folder without separators at its end. */
function folderOf(cwd: string): string {
  const isWindows = /^(?:[A-Za-z]:|\\\\)/.test(cwd)
  const trimmed = cwd.replace(isWindows ? /[/\\]+$/ : /\/+$/, '')
  return trimmed === '' ? '/' : trimmed
}

/** The id is derived from what is approved, so approving the same twice makes one rule. */
export function newRule(options: {
  scope: ApprovalRule['scope']
  toolName: string
  input: Json
  session: RuleBounds
  by?: Actor | undefined
  at: number
}): ApprovalRule {
  const { scope, toolName, by, at } = options
  const { sessionId, cwd, agent } = options.session
  const input = comparedInput(toolName, options.input)
  const digest = digestOf(toolName, input)
  const rule = { toolName, input, ...(by && { by }), at }
  switch (scope) {
    case 'session':
      return { id: `session.${sessionId}.${digest}`, scope, ...rule, sessionId }
    case 'always':
      if (cwd === null) {
        throw new AskbackError('invalid_answer', 'The scope "always" needs a session with a folder (`cwd`).')
      }
      return {
        id: `always.${folderAndAgentHash(folderOf(cwd), agent)}.${digest}`,
        scope,
        ...rule,
        cwd: folderOf(cwd),
        agent,
      }
    default:
      return scope satisfies never
  }
}

/** Part of the append of the approval that creates the rule. */
export function ruleWrite(rule: ApprovalRule): KvWrite {
  const { by, ...rest } = rule
  const actor = by && { id: by.id, ...(by.name !== undefined && { name: by.name }) }
  return { key: ruleKey(rule.id)!, value: { ...rest, ...(actor && { by: actor }) } }
}

/** The key of a rule; `null` if the text is not the id of a rule. */
export function ruleKey(id: string): string | null {
  const [, sessionId, scope, digest] =
    /^(?:session\.(.+)|always\.([0-9a-f]{64}))\.([0-9a-f]{64})$/s.exec(id) ?? []
  if (sessionId !== undefined) return `${sessionRulesPrefix(sessionId)}${digest}`
  return scope === undefined ? null : `${ALWAYS_RULES_PREFIX}${scope}/${digest}`
}

function folderAndAgentHash(cwd: string, agent: string | null): string {
  return sha256Hex(canonicalJson({ agent, cwd }))
}
