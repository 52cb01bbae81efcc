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
  /** The file, if the input changes several; or that every occurrence of the text is replaced. */
  note?: string
}

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

/** A change of a notebook cell. The input does not contain the previous text. */
function readNotebookEdit(input: Json): FileEdit | null {
  const names = ['notebook_path', 'new_source', 'cell_id', 'cell_type', 'edit_mode']
  const after = textOf(input, 'new_source')
  const path = textOf(input, 'notebook_path')
  if (after === undefined || path === undefined || path.length > MAX_PATH_CHARACTERS) return null
  if (!hasOnlyFields(input, names)) return null
  const details = ['edit_mode', 'cell_id', 'cell_type'].filter((name) => fieldOf(input, name) !== undefined)
  if (details.some((name) => textOf(input, name) === undefined)) return null
  return { before: '', after, note: details.map((name) => `${name}: ${textOf(input, name)}`).join(', ') }
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
      return moved === null ? { before: '', after: diff, firstLine: 1, note: `New file: ${path}` } : null
    case 'delete':
      return moved === null ? { before: diff, after: '', firstLine: 1, note: `Deleted: ${path}` } : null
    case 'update':
      return { patch: diff, note: moved === null ? path : `${path}, moved to ${moved}` }
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
