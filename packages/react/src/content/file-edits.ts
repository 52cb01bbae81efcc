import type { Json } from '@askback/protocol'
import { fieldOf, textOf } from './command.js'

/** What an edit tool changes, as far as its input tells: a text by another, or by a unified diff. */
export type FileEdit = (
  | {
      before: string
      after: string
      /** Where it is in the file; unknown for a piece of it. */ firstLine?: number
    }
  | { patch: string }
) & {
  /** Which file, where the input changes several; or that it happens wherever the text occurs. */
  note?: string
}

/** No file system takes more; a frame has room for as much in its title. */
const LONGEST_PATH = 4096

/** `null` where the input is not exactly that of a known edit tool: then all of it is shown as it is. */
export function fileEdits(toolName: string, input: Json): FileEdit[] | null {
  if (toolName === 'apply_patch') return patchesIn(input)
  if (toolName === 'NotebookEdit') return only(cellIn(input))
  const path = textOf(input, 'file_path')
  if (path === undefined || path.length > LONGEST_PATH) return null
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
      return [{ before: '', after, firstLine: 1 }]
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
  return { before, after, ...(everywhere && { note: 'Everywhere in the file' }) }
}

/** A cell of a notebook. What it held before is not in the input. */
function cellIn(input: Json): FileEdit | null {
  const names = ['notebook_path', 'new_source', 'cell_id', 'cell_type', 'edit_mode']
  const after = textOf(input, 'new_source')
  const path = textOf(input, 'notebook_path')
  if (after === undefined || path === undefined || path.length > LONGEST_PATH) return null
  if (!hasOnly(input, names)) return null
  const details = ['edit_mode', 'cell_id', 'cell_type'].filter((name) => fieldOf(input, name) !== undefined)
  if (details.some((name) => textOf(input, name) === undefined)) return null
  return { before: '', after, note: details.map((name) => `${name}: ${textOf(input, name)}`).join(', ') }
}

/** Codex: a file that comes or goes is given as its text, one that changes as a unified diff. */
function patchesIn(input: Json): FileEdit[] | null {
  const changes = fieldOf(input, 'changes')
  if (!Array.isArray(changes) || changes.length === 0 || !hasOnly(input, ['changes'])) return null
  const edits = changes.map(patchIn)
  return edits.every((edit) => edit !== null) ? edits : null
}

function patchIn(change: Json): FileEdit | null {
  const path = textOf(change, 'path')
  const diff = textOf(change, 'diff')
  const kind = fieldOf(change, 'kind') ?? null
  const moved = fieldOf(kind, 'move_path') ?? null
  if (path === undefined || diff === undefined || !hasOnly(change, ['path', 'kind', 'diff'])) return null
  if (!hasOnly(kind, ['type', 'move_path']) || (moved !== null && typeof moved !== 'string')) return null
  switch (fieldOf(kind, 'type')) {
    case 'add':
      return moved === null ? { before: '', after: diff, firstLine: 1, note: `New file: ${path}` } : null
    case 'delete':
      return moved === null ? { before: diff, after: '', firstLine: 1, note: `Deleted: ${path}` } : null
    case 'update':
      return { patch: diff, note: moved === null ? path : `${path}, moved to ${moved}` }
    default:
      return null
  }
}

function only(edit: FileEdit | null): FileEdit[] | null {
  return edit && [edit]
}

function hasOnly(input: Json, names: string[]): boolean {
  return (
    typeof input === 'object' && input !== null && Object.keys(input).every((name) => names.includes(name))
  )
}
