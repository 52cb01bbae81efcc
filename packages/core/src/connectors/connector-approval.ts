import {
  approvalAnswer,
  approvalRequest,
  spellOut,
  spellOutLine,
  type ApprovalRequest,
  type ApprovalScope,
  type Interaction,
  type Json,
} from '@askback/protocol'
import { back, stale, type CardFlow, type Part } from './connector-card.js'
import { jsonText } from './connector-json.js'
import { previewParts } from './connector-preview.js'

/** Approve, Deny, or Deny with a reason that comes as a text. */
export const approvalFlow: CardFlow = {
  step: () => 0,
  body(item, view) {
    const { asking } = view
    const request = approvalRequest.parse(item.request)
    return {
      title: `Approve ${spellOutLine(item.toolName, 'code')}?`,
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
  how(item) {
    const { scope = 'once', updatedInput } = approvalAnswer.safeParse(item.answer).data ?? {}
    const isEdited = updatedInput !== undefined || item.updatedDigest !== undefined
    return `${scopes[scope]}${isEdited ? ' as edited' : ''}`
  },
  said(item) {
    const { updatedInput } = approvalAnswer.safeParse(item.answer).data ?? {}
    return [
      ...(item.message ? [`Reason: ${spellOut(item.message, 'prose')}`] : []),
      ...(updatedInput === undefined ? [] : ['As edited:', ...inputParts(updatedInput).map(lineOf)]),
    ].join('\n')
  },
}

const scopes: Record<ApprovalScope, string> = { once: '', session: ' for this session', always: ' always' }

/** The digest does not cover these: they are labelled as the agent's words, so that nobody takes them for facts. */
function wordsOf(item: Interaction, request: ApprovalRequest): Part[] {
  const { title, description, reason, blockedPath } = request
  const quoted = (text: string | undefined, label: string): Part[] =>
    text ? [{ as: 'quote', text: spellOut(text, 'prose'), label }] : []
  return [
    ...quoted(title, 'The agent calls this'),
    ...quoted(description, 'The agent says'),
    ...quoted(reason, 'The agent says it asks because'),
    ...quoted(blockedPath, 'The agent says the path is'),
    ...quoted(item.agentId, 'Asked by the subagent'),
  ]
}

/** All of it, field by field, so that what is approved can be read. */
function inputParts(input: Json): Part[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return [code(jsonText(input))]
  const entries = Object.entries(input)
  if (entries.length === 0) return [code('{}')]
  return entries.map(([name, value]) => code(jsonText(value), name))
}

function lineOf({ label, text }: Part): string {
  if (label === undefined) return text
  return text.includes('\n') ? `${label}:\n${text}` : `${label}: ${text}`
}

function code(text: string, label?: string): Part {
  return {
    as: 'code',
    text: spellOut(text, 'code'),
    ...(label !== undefined && { label: fieldLabel(label) }),
  }
}

/** An unusual name is quoted: an agent chooses it, and could have it read like a label of ours. */
function fieldLabel(name: string): string {
  return spellOut(/^[\w$.-]{1,64}$/.test(name) ? name : JSON.stringify(name), 'code')
}
