import type { Json } from '@askback/protocol'
import { Columns2Icon } from '../icons.js'
import { useEffect, useMemo, useState, useSyncExternalStore, type ReactNode } from 'react'
import { useMustSee, useObstacle } from '../guard/card-guard.js'
import { MustSee } from '../guard/must-see.js'
import { browserStorage } from '../local-storage.js'
import { commandIn, textOf } from './describe-call.js'
import { countChanges, diffRows, type DiffRow } from './diff-rows.js'
import { DiffView, type FileDiff } from './diff-view.js'
import { fileEdits, type FileEdit } from './file-edits.js'
import { JsonTree } from './json-tree.js'
import { LongText } from './long-text.js'
import { SafeText } from './safe-text.js'
import { useLabels } from '../labels.js'
import { formatLines, formatSize } from './text-labels.js'

export interface CallInputProps {
  toolName: string
  input: Json
}

/** JSON with more lines or characters is shown as text, which can be folded. */
const MAX_TREE_LINES = 60
const MAX_TREE_CHARACTERS = 20_000
/** Each level is indented, and a phone has little width. */
const MAX_TREE_DEPTH = 8

/** The complete input of a tool call: a command, the changes of an edit, or JSON. */
export function CallInput({ toolName, input }: CallInputProps) {
  const edits = useMemo(() => fileEdits(toolName, input), [toolName, input])
  const command = commandIn(input)
  const t = useLabels()
  if (edits) {
    // A patch names each of its files itself.
    const path = textOf(input, 'file_path') ?? textOf(input, 'notebook_path')
    return <EditInput title={path === undefined ? t('Changes') : <Path path={path} />} edits={edits} />
  }
  if (command === null) return <JsonInput input={input} title={t('Input')} />
  return (
    <>
      <CodeFrame title={t('Command')} size={formatSize(t, command)}>
        <LongText text={command} label={t('The whole command')} />
      </CodeFrame>
      <OtherCommandInput input={input} />
    </>
  )
}

/** The fields of a command's input beside the command. They take effect too, also while the command is edited. */
export function OtherCommandInput({ input }: { input: Json }) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only an object has a command
  const { command: _, ...rest } = input as { [key: string]: Json }
  const t = useLabels()
  return Object.keys(rest).length > 0 && <JsonInput input={rest} title={t('With')} />
}

function Path({ path }: { path: string }) {
  return (
    <code ref={useMustSee()} className="ab-code-path">
      <SafeText text={path} as="code" />
    </code>
  )
}

export function EditInput({ title, edits }: { title: ReactNode; edits: FileEdit[] }) {
  const { isSplit, toggle } = useDiffLayout()
  const diffs = useDiffs(edits)
  const t = useLabels()
  // A new file has no other side.
  const hasTwoSides = edits.some((edit) => 'patch' in edit || edit.before !== '')
  return (
    <CodeFrame
      title={title}
      size={diffs && <ChangeCount diffs={diffs.map(({ rows }) => rows)} />}
      tool={
        toggle &&
        hasTwoSides && (
          <button type="button" className="ab-code-tool" aria-pressed={isSplit} onClick={toggle}>
            <Columns2Icon aria-hidden />
            {t('Side by side')}
          </button>
        )
      }
    >
      {diffs ? <DiffView diffs={diffs} isSplit={isSplit && hasTwoSides} /> : <Preparing />}
    </CodeFrame>
  )
}

function useDiffs(edits: FileEdit[]): FileDiff[] | null {
  const [done, setDone] = useState<{ edits: FileEdit[]; rows: DiffRow[][] } | null>(null)
  useEffect(() => {
    let isOutdated = false
    void Promise.all(edits.map(diffRows)).then((rows) => !isOutdated && setDone({ edits, rows }))
    return () => {
      isOutdated = true
    }
  }, [edits])
  return useMemo(
    () => (done?.edits === edits ? done.rows.map((rows, at) => ({ ...edits[at], rows })) : null),
    [done, edits],
  )
}

function Preparing() {
  const t = useLabels()
  return (
    <p ref={useObstacle()} className="ab-quiet">
      {t('Preparing the changes…')}
    </p>
  )
}

function ChangeCount({ diffs }: { diffs: DiffRow[][] }) {
  const { added, removed } = countChanges(diffs)
  const t = useLabels()
  return (
    <span
      role="img"
      aria-label={t('{added} added, {removed} removed', {
        added: formatLines(t, added),
        removed: formatLines(t, removed),
      })}
    >
      <span className="ab-diff-added">+{added}</span> <span className="ab-diff-removed">−{removed}</span>
    </span>
  )
}

export function JsonInput({ input, title }: { input: Json; title: ReactNode }) {
  const text = useMemo(() => (typeof input === 'string' ? input : JSON.stringify(input, null, 2)), [input])
  const isTree =
    typeof input !== 'string' &&
    text.length <= MAX_TREE_CHARACTERS &&
    text.split('\n').length <= MAX_TREE_LINES &&
    depthOf(input) <= MAX_TREE_DEPTH
  const t = useLabels()
  const label = typeof title === 'string' ? title : t('JSON')
  return (
    <CodeFrame title={title} size={isTree ? null : formatSize(t, text)}>
      {isTree ? (
        <div className="ab-code-scroll ab-json" role="group" aria-label={label}>
          <MustSee>
            <JsonTree value={input} />
          </MustSee>
        </div>
      ) : (
        <LongText text={text} label={label} />
      )}
    </CodeFrame>
  )
}

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

function CodeFrame({
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

export interface DiffLayout {
  isSplit: boolean
  /** `null` if the window is too narrow for two sides. */
  toggle: (() => void) | null
}

/** Whether diffs are shown side by side or unified, as the person chose last. The choice is stored. */
function useDiffLayout(): DiffLayout {
  const [wantsSplit, setWantsSplit] = useState(() => browserStorage.read('diff') === 'split')
  const isWide = useSyncExternalStore(subscribe, () => wideScreen().matches)
  if (!isWide) return { isSplit: false, toggle: null }
  return {
    isSplit: wantsSplit,
    toggle() {
      setWantsSplit(!wantsSplit)
      browserStorage.write('diff', wantsSplit ? null : 'split')
    },
  }
}

function wideScreen(): MediaQueryList {
  return window.matchMedia('(min-width: 48rem)')
}

function subscribe(listener: () => void): () => void {
  const query = wideScreen()
  query.addEventListener('change', listener)
  return () => query.removeEventListener('change', listener)
}
