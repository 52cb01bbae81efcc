import type { Json } from '@askback/protocol'
import { Columns2 } from 'lucide-react'
import { useEffect, useMemo, useState, type ReactNode } from 'react'
import { commandIn, textOf } from './command.js'
import { DiffView } from './diff-view.js'
import { fileEdits, type FileEdit } from './file-edits.js'
import { JsonTree } from './json-tree.js'
import { LongText, sizeOf } from './long-text.js'
import { ShownText } from './shown-text.js'
import { useDiffLayout } from './use-diff-layout.js'

export interface CallInputProps {
  toolName: string
  input: Json
  /** Told when all of it is on the page: nothing may be approved before. */
  onComplete?: ((isComplete: boolean) => void) | undefined
}

const LARGEST_TREE = 20_000
/** Each level takes some of the width from what stands in it, and a phone has little. */
const DEEPEST_TREE = 8

/** Everything that a call was given: a command, the changes of an edit, or JSON. */
export function CallInput({ toolName, input, onComplete }: CallInputProps) {
  const edits = useMemo(() => fileEdits(toolName, input), [toolName, input])
  const command = commandIn(input)
  if (edits) {
    // A patch names its files itself, one by one.
    const path = textOf(input, 'file_path')
    return (
      <EditInput
        title={path === undefined ? 'Changes' : <Path path={path} />}
        edits={edits}
        onComplete={onComplete}
      />
    )
  }
  if (command !== null) return <CommandInput command={command} input={input} onComplete={onComplete} />
  return <JsonInput input={input} title="Input" onComplete={onComplete} />
}

function Path({ path }: { path: string }) {
  return (
    <code className="ab-code-path">
      <ShownText text={path} as="code" />
    </code>
  )
}

interface EditInputProps extends Pick<CallInputProps, 'onComplete'> {
  title: ReactNode
  edits: FileEdit[]
}

export function EditInput({ title, edits, onComplete }: EditInputProps) {
  const { isSplit, toggle } = useDiffLayout()
  const text = edits.map((edit) => ('patch' in edit ? edit.patch : edit.after)).join('\n')
  // A new file has nothing to stand beside.
  const hasTwoSides = edits.some((edit) => 'patch' in edit || edit.before !== '')
  return (
    <Framed
      title={title}
      size={sizeOf(text)}
      tool={
        toggle &&
        hasTwoSides && (
          <button type="button" className="ab-code-tool" aria-pressed={isSplit} onClick={toggle}>
            <Columns2 aria-hidden />
            Side by side
          </button>
        )
      }
    >
      <DiffView edits={edits} isSplit={isSplit && hasTwoSides} onComplete={onComplete} />
    </Framed>
  )
}

interface CommandInputProps extends Pick<CallInputProps, 'input' | 'onComplete'> {
  command: string
}

/** The command, and whatever else goes with it: all of it counts. */
function CommandInput({ command, input, onComplete }: CommandInputProps) {
  const { command: _, ...rest } = input as { [key: string]: Json }
  const hasRest = Object.keys(rest).length > 0
  const [isCommandWhole, setCommandWhole] = useState(false)
  const [isRestWhole, setRestWhole] = useState(false)
  const isComplete = isCommandWhole && (isRestWhole || !hasRest)
  useEffect(() => onComplete?.(isComplete), [onComplete, isComplete])
  return (
    <>
      <Framed title="Command" size={sizeOf(command)}>
        <LongText text={command} onComplete={setCommandWhole} label="The whole command" />
      </Framed>
      {hasRest && <JsonInput input={rest} title="With" onComplete={setRestWhole} />}
    </>
  )
}

export function JsonInput({
  input,
  title,
  onComplete,
}: {
  input: Json
  title: string
  onComplete?: ((isComplete: boolean) => void) | undefined
}) {
  const text = useMemo(() => (typeof input === 'string' ? input : JSON.stringify(input, null, 2)), [input])
  const isSmall = typeof input !== 'string' && text.length <= LARGEST_TREE && depthOf(input) <= DEEPEST_TREE
  useEffect(() => {
    if (isSmall) onComplete?.(true)
  }, [onComplete, isSmall])
  return (
    <Framed title={title} size={sizeOf(text)}>
      {isSmall ? (
        <div className="ab-code-scroll ab-json" tabIndex={0} role="group" aria-label={title}>
          <JsonTree value={input} />
        </div>
      ) : (
        <LongText text={text} onComplete={onComplete} label={title} />
      )}
    </Framed>
  )
}

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

function Framed({
  title,
  size,
  tool,
  children,
}: {
  title: ReactNode
  size: string
  tool?: ReactNode
  children: ReactNode
}) {
  return (
    <div className="ab-code-block">
      <div className="ab-code-bar">
        <span className="ab-code-title">{title}</span>
        {tool}
        <span>{size}</span>
      </div>
      {children}
    </div>
  )
}
