import { spellOut, spellOutLine, type ApprovalRequest, type Json } from '@askback/protocol'
import type { Part } from './connector-card.js'
import { jsonText } from './connector-json.js'

/** What an agent shows of a call beside its input: the changes it says it makes, or what it says was approved before. */
export function previewParts({ preview, suggestions }: ApprovalRequest): Part[] {
  return [
    ...(preview === undefined ? [] : (diffParts(preview) ?? [otherPart(preview)])),
    ...(suggestions === undefined ? [] : [code(jsonText(suggestions), 'Rules that the agent suggests')]),
  ]
}

/** `null` where it is not exactly that: then all of it is shown as it is. */
function diffParts(preview: Json): Part[] | null {
  const diffs = fieldOf(preview, 'diffs')
  if (!Array.isArray(diffs) || diffs.length === 0) return null
  const parts: Part[] = []
  for (const diff of diffs) {
    const [path, before, after] = ['path', 'oldText', 'newText'].map((name) => fieldOf(diff, name))
    if (typeof path !== 'string' || typeof before !== 'string' || typeof after !== 'string') return null
    parts.push(code(changedLines(before, after), `The agent says it would change ${path}`))
  }
  return parts
}

function otherPart(preview: Json): Part {
  const approved = fieldOf(preview, 'approved')
  return approved === undefined
    ? code(jsonText(preview), 'The agent’s preview')
    : code(jsonText(approved), 'The agent says this was approved before')
}

/** All lines: those that stay at both ends, and between them what goes and what comes. */
function changedLines(before: string, after: string): string {
  const old = linesOf(before)
  const young = linesOf(after)
  const shorter = Math.min(old.length, young.length)
  let head = 0
  while (head < shorter && old[head] === young[head]) head++
  let tail = 0
  while (tail < shorter - head && old.at(-1 - tail) === young.at(-1 - tail)) tail++
  return [
    ...old.slice(0, head).map((line) => `  ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `- ${line}`),
    ...young.slice(head, young.length - tail).map((line) => `+ ${line}`),
    ...old.slice(old.length - tail).map((line) => `  ${line}`),
  ].join('\n')
}

/** The last line break ends the last line. */
function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

function fieldOf(value: Json, name: string): Json | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject && Object.hasOwn(value, name) ? value[name] : undefined
}

function code(text: string, label: string): Part {
  return { as: 'code', text: spellOut(text, 'code'), label: spellOutLine(label, 'code') }
}
