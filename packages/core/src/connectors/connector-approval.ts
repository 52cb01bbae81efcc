import {
  approvalRequest,
  spellOut,
  type ApprovalRequest,
  type Interaction,
  type Json,
} from '@askback/protocol'
import { back, stale, type CardFlow, type Part } from './connector-card.js'
import { previewParts } from './connector-preview.js'

/** Approve, Deny, or Deny with a reason that comes as a text. */
export const approvalFlow: CardFlow = {
  step: () => 0,
  body(item, view) {
    const { asking } = view
    const request = approvalRequest.parse(item.request)
    return {
      title: `Approve ${spellOut(item.toolName, 'code')}?`,
      parts: [...wordsOf(item, request), ...inputParts(request.input), ...previewParts(request)],
      controls: asking
        ? [back]
        : [
            { id: 'approve', label: 'Approve', role: 'approve' },
            { id: 'deny', label: 'Deny', role: 'deny' },
            { id: 'reason', label: 'Deny with a reason…', role: 'deny' },
          ],
      asks: asking ? 'Send the reason as a text.' : null,
    }
  },
  take(_item, view, input) {
    if ('text' in input) {
      if (!view.asking) return { do: 'route' }
      return { do: 'answer', answer: { decision: 'deny', message: input.text.trim() } }
    }
    switch (input.tap) {
      case 'approve':
        return { do: 'answer', answer: { decision: 'approve' } }
      case 'deny':
        return { do: 'answer', answer: { decision: 'deny' } }
      case 'reason':
        return {
          do: 'show',
          view: { ...view, asking: { what: 'reason', by: input.by } },
          told: 'Send the reason as a text.',
        }
      case 'back':
        return { do: 'show', view: { ...view, asking: null }, told: 'Nothing is decided yet.' }
      default:
        return stale
    }
  },
  said: (item) => (item.message ? `Reason: ${spellOut(item.message, 'prose')}` : ''),
}

function wordsOf(item: Interaction, request: ApprovalRequest): Part[] {
  const { title, description, reason, blockedPath } = request
  const quoted = (text: string | undefined, label?: string): Part[] =>
    text ? [{ as: 'quote', text: spellOut(text, 'prose'), ...(label && { label }) }] : []
  return [
    ...quoted(title),
    ...quoted(description),
    ...quoted(reason, 'Why it is asked'),
    ...quoted(blockedPath, 'Path'),
    ...quoted(item.agentId, 'Asked by the subagent'),
  ]
}

/** All of it, field by field, so that what is approved can be read. */
function inputParts(input: Json): Part[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return [code(shown(input))]
  const entries = Object.entries(input)
  if (entries.length === 0) return [code('{}')]
  return entries.map(([name, value]) => code(shown(value), name))
}

function shown(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

function code(text: string, label?: string): Part {
  return {
    as: 'code',
    text: spellOut(text, 'code'),
    ...(label !== undefined && { label: spellOut(label, 'code') }),
  }
}
