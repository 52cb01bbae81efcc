import type { Json } from '@askback/protocol'
import { fieldOf, textOf } from './describe-call.js'

/** One change of an edit tool, as far as its input says: a text before and after, or a unified diff. */
export type FileEdit = (
  | {
      before: string
      after: string
      /** The line number of its beginning in the file; unknown for a part of a file. */ firstLine?: number
    }
  | { patch: string }
) & {
  /** What kind of change it is, in words of this page. */
  note?: DiffNote
  /** The file, if the input changes several. Kept apart from `note`, whose words a path could imitate. */
  path?: string
  movedTo?: string
}

export type DiffNote = 'Everywhere in the file' | 'New file' | 'Deleted' | 'A cell' | 'A new cell'

/** No file system allows longer paths, and the title of a frame has room for this much. */
const MAX_PATH_CHARACTERS = 4096

/**
 * The changes in the input of a known edit tool. `null` if the input has any other form: then all of it is shown as
 * JSON, so that no field can hide behind a diff.
 */
export function fileEdits(toolName: string, input: Json): FileEdit[] | null {
  if (toolName === 'apply_patch') return readPatches(input)
  if (toolName === 'NotebookEdit') return asList(readNotebookEdit(input))
  const path = textOf(input, 'file_path')
  if (path === undefined || path.length > MAX_PATH_CHARACTERS) return null
  switch (toolName) {
    case 'Edit':
      return asList(readEdit(input, ['file_path']))
    case 'MultiEdit': {
      const list = fieldOf(input, 'edits')
      if (!Array.isArray(list) || !hasOnlyFields(input, ['file_path', 'edits'])) return null
      const edits = list.map((each) => readEdit(each, []))
      return edits.every((edit) => edit !== null) ? edits : null
    }
    case 'Write': {
      const after = textOf(input, 'content')
      if (after === undefined || !hasOnlyFields(input, ['file_path', 'content'])) return null
      return [{ before: '', after, firstLine: 1 }]
    }
    default:
      return null
  }
}

function readEdit(input: Json, alsoKnown: string[]): FileEdit | null {
  const before = textOf(input, 'old_string')
  const after = textOf(input, 'new_string')
  // The diff does not show other fields, so their presence must not be hidden by it.
  if (!hasOnlyFields(input, ['old_string', 'new_string', 'replace_all', ...alsoKnown])) return null
  const everywhere = fieldOf(input, 'replace_all') ?? false
  if (before === undefined || after === undefined || typeof everywhere !== 'boolean') return null
  return { before, after, ...(everywhere && { note: 'Everywhere in the file' }) }
}

/**
 * A cell of a notebook that is replaced or inserted. The input does not contain the previous text. A deletion has no new
 * text, so it is shown as JSON, as is everything else that would need more words than `note`.
 */
function readNotebookEdit(input: Json): FileEdit | null {
  const names = ['notebook_path', 'new_source', 'cell_id', 'edit_mode']
  const after = textOf(input, 'new_source')
  const path = textOf(input, 'notebook_path')
  if (after === undefined || path === undefined || path.length > MAX_PATH_CHARACTERS) return null
  const [cell, mode] = [fieldOf(input, 'cell_id'), fieldOf(input, 'edit_mode') ?? 'replace']
  if (!hasOnlyFields(input, names) || (cell !== undefined && typeof cell !== 'string')) return null
  if (mode !== 'replace' && mode !== 'insert') return null
  const note = mode === 'insert' ? 'A new cell' : 'A cell'
  return { before: '', after, note, ...(cell !== undefined && { path: cell }) }
}

/** A patch of Codex: added and deleted files are given as text, changed ones as unified diffs. */
function readPatches(input: Json): FileEdit[] | null {
  const changes = fieldOf(input, 'changes')
  if (!Array.isArray(changes) || changes.length === 0 || !hasOnlyFields(input, ['changes'])) return null
  const edits = changes.map(readPatch)
  return edits.every((edit) => edit !== null) ? edits : null
}

function readPatch(change: Json): FileEdit | null {
  const path = textOf(change, 'path')
  const diff = textOf(change, 'diff')
  const kind = fieldOf(change, 'kind') ?? null
  const moved = fieldOf(kind, 'move_path') ?? null
  if (path === undefined || diff === undefined || !hasOnlyFields(change, ['path', 'kind', 'diff']))
    return null
  if (!hasOnlyFields(kind, ['type', 'move_path']) || (moved !== null && typeof moved !== 'string'))
    return null
  switch (fieldOf(kind, 'type')) {
    case 'add':
      return moved === null ? { before: '', after: diff, firstLine: 1, note: 'New file', path } : null
    case 'delete':
      return moved === null ? { before: diff, after: '', firstLine: 1, note: 'Deleted', path } : null
    case 'update':
      return { patch: diff, path, ...(moved !== null && { movedTo: moved }) }
    default:
      return null
  }
}

function asList(edit: FileEdit | null): FileEdit[] | null {
  return edit && [edit]
}

function hasOnlyFields(input: Json, names: string[]): boolean {
  return (
    typeof input === 'object' && input !== null && Object.keys(input).every((name) => names.includes(name))
  )
}
