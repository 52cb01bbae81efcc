import type { Json } from '@askback/protocol'
import { useEffect, useMemo } from 'react'
import { CallInput, EditInput, JsonInput } from '../content/call-input.js'
import { fieldOf, textOf } from '../content/command.js'
import type { FileEdit } from '../content/file-edits.js'

interface ApprovalPreviewProps {
  toolName: string
  preview: Json
  onComplete: (isComplete: boolean) => void
}

/** What the agent shows of a call beside its input: the changes it says it makes, or what was approved before. */
export function ApprovalPreview({ toolName, preview, onComplete }: ApprovalPreviewProps) {
  const edits = useMemo(() => editsIn(preview), [preview])
  const approved = fieldOf(preview, 'approved')
  // What runs is the input: this is only there to compare with it.
  useEffect(() => {
    if (approved !== undefined) onComplete(true)
  }, [approved, onComplete])
  if (edits) return <EditInput title="What it would change" edits={edits} onComplete={onComplete} />
  if (approved === undefined) return <JsonInput input={preview} title="Preview" onComplete={onComplete} />
  return (
    <details className="ab-details">
      <summary>What was approved before</summary>
      <CallInput toolName={toolName} input={approved} />
    </details>
  )
}

/** `null` where it is not exactly that: then all of it is shown as it is. */
function editsIn(preview: Json): FileEdit[] | null {
  const diffs = fieldOf(preview, 'diffs')
  if (!Array.isArray(diffs) || diffs.length === 0) return null
  const edits: FileEdit[] = []
  for (const diff of diffs) {
    const [note, before, after] = [textOf(diff, 'path'), textOf(diff, 'oldText'), textOf(diff, 'newText')]
    if (note === undefined || before === undefined || after === undefined) return null
    edits.push({ note, before, after })
  }
  return edits
}
