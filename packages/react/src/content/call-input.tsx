import type { Json } from '@askback/protocol'
import { Columns2 } from 'lucide-react'
import { useEffect, useMemo, useState, type ReactNode } from 'react'
import { useMustSee, useObstacle } from '../guard/card-guard.js'
import { MustSee } from '../guard/must-see.js'
import { count } from './amounts.js'
import { commandIn, textOf } from './command.js'
import { countChanges, diffRows, type DiffRow } from './diff-rows.js'
import { DiffView } from './diff-view.js'
import { fileEdits, type FileEdit } from './file-edits.js'
import { JsonTree } from './json-tree.js'
import { LongText, sizeOf } from './long-text.js'
import { ShownText } from './shown-text.js'
import { useDiffLayout } from './use-diff-layout.js'

export interface CallInputProps {
  toolName: string
  input: Json
}

/** A longer one is shown as text, which folds. */
const MOST_TREE_LINES = 60
const LONGEST_TREE = 20_000
/** Each level takes some of the width from what stands in it, and a phone has little. */
const DEEPEST_TREE = 8

/** Everything that a call was given: a command, the changes of an edit, or JSON. */
export function CallInput({ toolName, input }: CallInputProps) {
  const edits = useMemo(() => fileEdits(toolName, input), [toolName, input])
  const command = commandIn(input)
  if (edits) {
    // A patch names its files itself, one by one.
    const path = textOf(input, 'file_path') ?? textOf(input, 'notebook_path')
    return <EditInput title={path === undefined ? 'Changes' : <Path path={path} />} edits={edits} />
  }
  if (command === null) return <JsonInput input={input} title="Input" />
  return (
    <>
      <Framed title="Command" size={sizeOf(command)}>
        <LongText text={command} label="The whole command" />
      </Framed>
      <CommandRest input={input} />
    </>
  )
}

/** Whatever goes with a command: all of it counts, also while the command is edited. */
export function CommandRest({ input }: { input: Json }) {
  const { command: _, ...rest } = input as { [key: string]: Json }
  return Object.keys(rest).length > 0 && <JsonInput input={rest} title="With" />
}

function Path({ path }: { path: string }) {
  return (
    <code ref={useMustSee()} className="ab-code-path">
      <ShownText text={path} as="code" />
    </code>
  )
}

export function EditInput({ title, edits }: { title: ReactNode; edits: FileEdit[] }) {
  const { isSplit, toggle } = useDiffLayout()
  const diffs = useDiffs(edits)
  // A new file has nothing to stand beside.
  const hasTwoSides = edits.some((edit) => 'patch' in edit || edit.before !== '')
  return (
    <Framed
      title={title}
      size={diffs && <ChangeCount diffs={diffs.map(({ rows }) => rows)} />}
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
      {diffs ? <DiffView diffs={diffs} isSplit={isSplit && hasTwoSides} /> : <Preparing />}
    </Framed>
  )
}

function useDiffs(edits: FileEdit[]): { rows: DiffRow[]; note?: string | undefined }[] | null {
  const [done, setDone] = useState<{ edits: FileEdit[]; rows: DiffRow[][] } | null>(null)
  useEffect(() => {
    let isOld = false
    void Promise.all(edits.map(diffRows)).then((rows) => !isOld && setDone({ edits, rows }))
    return () => {
      isOld = true
    }
  }, [edits])
  return useMemo(
    () => (done?.edits === edits ? done.rows.map((rows, at) => ({ rows, note: edits[at]?.note })) : null),
    [done, edits],
  )
}

function Preparing() {
  return (
    <p ref={useObstacle()} className="ab-quiet">
      Preparing the changes…
    </p>
  )
}

function ChangeCount({ diffs }: { diffs: DiffRow[][] }) {
  const { added, removed } = countChanges(diffs)
  return (
    <span role="img" aria-label={`${count(added, 'line')} added, ${count(removed, 'line')} removed`}>
      <span className="ab-diff-added">+{added}</span> <span className="ab-diff-removed">−{removed}</span>
    </span>
  )
}

export function JsonInput({ input, title }: { input: Json; title: ReactNode }) {
  const text = useMemo(() => (typeof input === 'string' ? input : JSON.stringify(input, null, 2)), [input])
  const isTree =
    typeof input !== 'string' &&
    text.length <= LONGEST_TREE &&
    text.split('\n').length <= MOST_TREE_LINES &&
    depthOf(input) <= DEEPEST_TREE
  const label = typeof title === 'string' ? title : 'JSON'
  return (
    <Framed title={title} size={isTree ? null : sizeOf(text)}>
      {isTree ? (
        <div className="ab-code-scroll ab-json" role="group" aria-label={label}>
          <MustSee>
            <JsonTree value={input} />
          </MustSee>
        </div>
      ) : (
        <LongText text={text} label={label} />
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
  size: ReactNode
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
