import type { Interaction } from '@askback/protocol'
import { useEffect, useRef, useState } from 'react'
import { kept } from './kept.js'

interface KeptDraft<T> {
  at: number
  draft: T
}

const WRITE_MS = 200
const FORGET_MS = 14 * 24 * 60 * 60_000

/**
 * What somebody typed and did not send. It belongs to the interaction alone, survives a reload, and is gone when that is
 * settled. `isDraft` checks what a former version or somebody else may have left there.
 */
export function useDraft<T>(
  { interactionId, status }: Interaction,
  isDraft: (value: unknown) => value is T,
): [T | null, (draft: T) => void] {
  const key = `draft.${interactionId}`
  const [draft, setDraft] = useState<T | null>(() => (status === 'pending' ? readDraft(key, isDraft) : null))
  const unsaved = useRef<T | null>(null)

  useEffect(() => {
    if (status !== 'pending') {
      unsaved.current = null
      kept.write(key, null)
    }
  }, [key, status])

  useEffect(() => {
    if (unsaved.current === null) return
    const timer = setTimeout(save, WRITE_MS)
    return () => clearTimeout(timer)
  }, [draft])

  useEffect(() => {
    window.addEventListener('pagehide', save)
    return () => {
      window.removeEventListener('pagehide', save)
      save()
    }
  }, [key])

  return [
    draft,
    (next) => {
      unsaved.current = next
      setDraft(next)
    },
  ]

  function save() {
    if (unsaved.current === null) return
    const entry: KeptDraft<T> = { at: Date.now(), draft: unsaved.current }
    unsaved.current = null
    kept.write(key, JSON.stringify(entry))
  }
}

/** Drafts of what was settled while nobody looked would stay for ever. */
export function forgetOldDrafts(now: number): void {
  for (const key of kept.keys()) {
    if (!key.startsWith('draft.')) continue
    const entry = parse(kept.read(key))
    if (!entry || now - entry.at > FORGET_MS) kept.write(key, null)
  }
}

function readDraft<T>(key: string, isDraft: (value: unknown) => value is T): T | null {
  const entry = parse(kept.read(key))
  return entry && isDraft(entry.draft) ? entry.draft : null
}

function parse(text: string | null): KeptDraft<unknown> | null {
  try {
    const value: unknown = JSON.parse(text ?? 'null')
    const isEntry = typeof value === 'object' && value !== null && 'at' in value && 'draft' in value
    return isEntry && typeof value.at === 'number' ? { at: value.at, draft: value.draft } : null
  } catch {
    return null
  }
}
