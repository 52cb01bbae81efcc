import type { Interaction, Json } from '@askback/protocol'
import { spellOut } from '@askback/protocol/hidden-characters'

/** Whether this answer lets the agent act on what it asked for. In doubt it does. */
export function letsRun({ kind }: Interaction, answer: Json): boolean {
  if (kind === 'question' || kind === 'form') return false
  const decision = fieldOf(answer, 'decision')
  return !((kind === 'approval' && decision === 'deny') || (kind === 'plan_review' && decision === 'adjust'))
}

/** All that an answer would approve, uncut: a list shows only the beginning of it. */
export function wholeRequest({ kind, toolName, request }: Interaction, answer: Json): string {
  const plan = kind === 'plan_review' ? fieldOf(request, 'plan') : undefined
  const updated = kind === 'approval' ? fieldOf(answer, 'updatedInput') : undefined
  const text = typeof plan === 'string' ? plan : JSON.stringify(request, null, 2)
  const lines = [
    `${toolName}:\n${text}`,
    ...(updated === undefined ? [] : [`With this input instead:\n${JSON.stringify(updated, null, 2)}`]),
  ]
  return spellOut(lines.join('\n'), 'code')
}

function fieldOf(value: Json, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.hasOwn(value, name) ? value[name] : undefined
}
