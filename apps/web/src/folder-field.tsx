import type { FolderInfo } from '@askback/client'
import { useTransport } from '@askback/react'
import { useId, useState } from 'react'

interface FolderControl {
  /** As it was typed, without spaces around it. */
  path: string
  /** Why no agent can work there, if the gateway said so. */
  problem: string | null
  /** The same of the folder that was checked last, which may have been changed since. */
  lastProblem: string | null
  change: (text: string) => void
  check: () => void
}

/** The folder of a new session. The gateway checks it when the person leaves the field, so that a typing error is seen before Start. */
export function useFolder(): FolderControl {
  const transport = useTransport()
  const [text, setText] = useState('')
  const [checked, setChecked] = useState<FolderInfo | null>(null)
  const path = text.trim()
  const lastProblem = checked?.problem ?? null
  return {
    path,
    problem: checked?.path === path ? lastProblem : null,
    lastProblem,
    change: setText,
    check() {
      if (path === '' || !transport.folder) return
      transport.folder(path).then(
        (found) => setChecked(found && { path, problem: found.problem }),
        // Start says what is wrong with the connection.
        () => undefined,
      )
    },
  }
}

export function FolderField({ folder }: { folder: FolderControl }) {
  const problemId = useId()
  return (
    <div>
      <label className="block">
        <span className="mb-1.5 block text-sm font-medium">
          Folder <span className="font-normal text-soft">(optional)</span>
        </span>
        <input
          onChange={(event) => folder.change(event.target.value)}
          onBlur={folder.check}
          placeholder="~/project"
          spellCheck={false}
          autoCapitalize="none"
          autoCorrect="off"
          aria-invalid={folder.problem !== null}
          aria-describedby={problemId}
          className="ab-input ab-editor-text"
        />
      </label>
      <p id={problemId} role="alert" className="text-sm break-words text-bad not-empty:mt-1.5">
        {folder.problem}
      </p>
    </div>
  )
}
