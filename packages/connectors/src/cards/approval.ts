import {
  approvalAnswer,
  approvalRequest,
  changesInPreview,
  requestNoteTexts,
  shownFieldName,
  spellOut,
  spellOutLine,
  type ApprovalRequest,
  type ApprovalScope,
  type Interaction,
  type Json,
} from '@askback/protocol'
import { BACK, OUTDATED_CONTROL, prose, type CardKind, type CardPart } from './card.js'

const SCOPES: Record<ApprovalScope, string> = { once: '', session: ' for this session', always: ' always' }

/**
 * Approve, Deny, or "Deny with a reason", whose reason is sent as a text in a second step. The card shows the input of the
 * call completely, since that is what a person approves, and labels the rest as the agent's words.
 */
export const approvalCard: CardKind = {
  stepOf: () => 0,

  bodyOf(interaction, { asking }) {
    const request = approvalRequest.parse(interaction.request)
    return {
      title: `Approve ${spellOutLine(interaction.toolName, 'code')}?`,
      parts: [
        ...noteParts(interaction),
        ...agentWords(interaction, request),
        ...inputParts(request.input),
        ...previewParts(request.preview),
        ...suggestionParts(request.suggestions),
      ],
      controls: asking
        ? [BACK]
        : [
            { id: 'approve', label: 'Approve', role: 'approve' },
            { id: 'deny', label: 'Deny', role: 'deny' },
            { id: 'reason', label: 'Deny with a reason…', role: 'deny' },
          ],
      asks: asking ? 'Send the reason as a text.' : null,
    }
  },

  handleInput(_interaction, view, input) {
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
          message: 'Send the reason as a text.',
        }
      case 'back':
        return { do: 'show', view: { ...view, asking: null }, message: 'Nothing is decided yet.' }
      default:
        return OUTDATED_CONTROL
    }
  },

  settlementDetail({ answer, updatedDigest }) {
    const { scope = 'once', updatedInput } = approvalAnswer.safeParse(answer).data ?? {}
    const isEdited = updatedInput !== undefined || updatedDigest !== undefined
    return `${SCOPES[scope]}${isEdited ? ' as edited' : ''}`
  },

  answerText({ answer, message }) {
    const { updatedInput } = approvalAnswer.safeParse(answer).data ?? {}
    return [
      ...(message ? [`Reason: ${prose(message)}`] : []),
      ...(updatedInput === undefined ? [] : ['As edited:', ...inputParts(updatedInput).map(lineOf)]),
    ].join('\n')
  },
}

/** What Askback itself has to say about the request. */
function noteParts({ notes = [] }: Interaction): CardPart[] {
  return notes.map((note) => ({ as: 'note', text: requestNoteTexts[note] }))
}

/** The digest does not cover these texts, so they are labelled as the agent's words and not as facts. */
function agentWords(interaction: Interaction, request: ApprovalRequest): CardPart[] {
  const { title, description, reason, blockedPath } = request
  const quote = (text: string | undefined, label: string): CardPart[] =>
    text ? [{ as: 'quote', text: prose(text), label }] : []
  return [
    ...quote(title, 'The agent calls this'),
    ...quote(description, 'The agent says'),
    ...quote(reason, 'The agent says it asks because'),
    ...quote(blockedPath, 'The agent says the path is'),
    ...quote(interaction.agentId, 'Asked by the subagent'),
  ]
}

/** The whole input, one part for each of its fields. */
function inputParts(input: Json): CardPart[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return [code(jsonText(input))]
  const fields = Object.entries(input)
  if (fields.length === 0) return [code('{}')]
  return fields.map(([name, value]) => code(jsonText(value), spellOut(shownFieldName(name), 'code')))
}

/** The changes that the agent says the call makes, or what it says was approved before; anything else as JSON. */
function previewParts(preview: Json | undefined): CardPart[] {
  if (preview === undefined) return []
  const changes = changesInPreview(preview)
  if (changes)
    return changes.map(({ path, oldText, newText }) =>
      code(changedLines(oldText, newText), spellOutLine(`The agent says it would change ${path}`, 'code')),
    )
  const approved = fieldOf(preview, 'approved')
  return approved === undefined
    ? [code(jsonText(preview), 'The agent’s preview')]
    : [code(jsonText(approved), 'The agent says this was approved before')]
}

function suggestionParts(suggestions: Json | undefined): CardPart[] {
  return suggestions === undefined ? [] : [code(jsonText(suggestions), 'Rules that the agent suggests')]
}

/** All lines: those that stay the same at both ends, and between them those that are removed and added. */
function changedLines(before: string, after: string): string {
  const oldLines = splitLines(before)
  const newLines = splitLines(after)
  const shorter = Math.min(oldLines.length, newLines.length)
  let head = 0
  while (head < shorter && oldLines[head] === newLines[head]) head++
  let tail = 0
  while (tail < shorter - head && oldLines.at(-1 - tail) === newLines.at(-1 - tail)) tail++
  return [
    ...oldLines.slice(0, head).map((line) => `  ${line}`),
    ...oldLines.slice(head, oldLines.length - tail).map((line) => `- ${line}`),
    ...newLines.slice(head, newLines.length - tail).map((line) => `+ ${line}`),
    ...oldLines.slice(oldLines.length - tail).map((line) => `  ${line}`),
  ].join('\n')
}

/** A line break at the very end ends the last line; it does not begin an empty one. */
function splitLines(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

/**
 * The whole value. A single-line string is shown without quotes, unless it could then be mistaken for another JSON value or
 * its blanks could not be seen: `true` and `"true"` must look different to the person who approves them.
 */
function jsonText(value: Json): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2)
  const text = value.trim()
  const isPlain = text.includes('\n') || (text !== '' && text === value && !isJson(text))
  return isPlain ? value : JSON.stringify(value)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function fieldOf(value: Json, name: string): Json | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject && Object.hasOwn(value, name) ? value[name] : undefined
}

function lineOf({ label, text }: CardPart): string {
  if (label === undefined) return text
  return text.includes('\n') ? `${label}:\n${text}` : `${label}: ${text}`
}

/** `label` must be spelled out already. */
function code(text: string, label?: string): CardPart {
  return { as: 'code', text: spellOut(text, 'code'), ...(label !== undefined && { label }) }
}
