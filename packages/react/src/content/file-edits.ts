import type { Json } from '@askback/protocol'
import { fieldOf, textOf } from '../approval/command.js'

/** What an edit tool replaces, as far as its input tells. */
export interface FileEdit {
  before: string
  after: string
  /** Wherever it occurs. */
  isEverywhere: boolean
}

/** `null` where the input is not exactly that of a known edit tool: then all of it is shown as it is. */
export function fileEdits(toolName: string, input: Json): FileEdit[] | null {
  if (textOf(input, 'file_path') === undefined) return null
  switch (toolName) {
    case 'Edit':
      return only(editIn(input, ['file_path']))
    case 'MultiEdit': {
      const list = fieldOf(input, 'edits')
      if (!Array.isArray(list) || !hasOnly(input, ['file_path', 'edits'])) return null
      const edits = list.map((each) => editIn(each, []))
      return edits.every((edit) => edit !== null) ? edits : null
    }
    case 'Write': {
      const after = textOf(input, 'content')
      if (after === undefined || !hasOnly(input, ['file_path', 'content'])) return null
      return [{ before: '', after, isEverywhere: false }]
    }
    default:
      return null
  }
}

function editIn(input: Json, alsoKnown: string[]): FileEdit | null {
  const before = textOf(input, 'old_string')
  const after = textOf(input, 'new_string')
  // A field that this drawing does not show must not hide behind it.
  if (!hasOnly(input, ['old_string', 'new_string', 'replace_all', ...alsoKnown])) return null
  const everywhere = fieldOf(input, 'replace_all') ?? false
  if (before === undefined || after === undefined || typeof everywhere !== 'boolean') return null
  return { before, after, isEverywhere: everywhere }
}

function only(edit: FileEdit | null): FileEdit[] | null {
  return edit && [edit]
}

function hasOnly(input: Json, names: string[]): boolean {
  return (
    typeof input === 'object' && input !== null && Object.keys(input).every((name) => names.includes(name))
  )
}
