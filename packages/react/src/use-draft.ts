import type { Interaction } from '@askback/protocol'
import { useEffect, useState } from 'react'
import { kept } from './kept.js'

interface KeptDraft {
  at: number
  draft: unknown
}

const WRITE_MS = 200
const FORGET_MS = 14 * 24 * 60 * 60_000

/** What was typed last and is not stored yet: a card that asks again comes before the one that was there has gone. */
const unsaved = new Map<string, unknown>()

/**
 * What somebody typed and did not send. It belongs to one request alone, also when that is asked again, survives a reload,
 * and is gone when that is settled. `isDraft` checks what a former version or somebody else may have left there.
 */
export function useDraft<T>(
  { interactionId, repromptOf = interactionId, status, settlement }: Interaction,
  isDraft: (value: unknown) => value is T,
): [T | null, (draft: T) => void] {
  const key = `draft.${repromptOf}`
  const isOver = status === 'settled' && settlement !== 'superseded'
  const [draft, setDraft] = useState<T | null>(() => (status === 'pending' ? readDraft(key, isDraft) : null))

  useEffect(() => {
    if (!isOver) return
    unsaved.delete(key)
    kept.write(key, null)
  }, [key, isOver])

  useEffect(() => {
    if (!unsaved.has(key)) return
    const timer = setTimeout(() => save(key), WRITE_MS)
    return () => clearTimeout(timer)
  }, [key, draft])

  useEffect(() => {
    const saveNow = () => save(key)
    window.addEventListener('pagehide', saveNow)
    return () => {
      window.removeEventListener('pagehide', saveNow)
      saveNow()
    }
  }, [key])

  return [
    draft,
    (next) => {
      unsaved.set(key, next)
      setDraft(next)
    },
  ]
}

/** Drafts of what was settled while nobody looked would stay for ever. */
export function forgetOldDrafts(now: number): void {
  for (const key of kept.keys()) {
    if (!key.startsWith('draft.')) continue
    const entry = parse(kept.read(key))
    if (!entry || now - entry.at > FORGET_MS) kept.write(key, null)
  }
}

function save(key: string): void {
  if (!unsaved.has(key)) return
  const entry: KeptDraft = { at: Date.now(), draft: unsaved.get(key) }
  unsaved.delete(key)
  kept.write(key, JSON.stringify(entry))
}

function readDraft<T>(key: string, isDraft: (value: unknown) => value is T): T | null {
  const draft = unsaved.get(key) ?? parse(kept.read(key))?.draft
  return isDraft(draft) ? draft : null
}

function parse(text: string | null): KeptDraft | null {
  try {
    const value: unknown = JSON.parse(text ?? 'null')
    const isEntry = typeof value === 'object' && value !== null && 'at' in value && 'draft' in value
    return isEntry && typeof value.at === 'number' ? { at: value.at, draft: value.draft } : null
  } catch {
    return null
  }
}
