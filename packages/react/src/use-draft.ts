import type { Interaction } from '@askback/protocol'
import { useEffect, useState } from 'react'
import { browserStorage } from './local-storage.js'

// Drafts of answers in `localStorage`. A change is first noted in `unsaved` and written after a pause, on `pagehide`
// and when the card unmounts. A draft is stored under the id of the first request of a chain of reprompts, so that the
// card of the reprompt continues with it.

interface StoredDraft {
  /** When it was stored, in milliseconds since 1970, to remove old ones. */
  at: number
  draft: unknown
}

const SAVE_DELAY_MS = 200
const MAX_DRAFT_AGE_MS = 14 * 24 * 60 * 60_000

/**
 * Drafts that are not written yet, by key. The card of a reprompt mounts before the previous card unmounts and saves,
 * so it has to find the latest draft here.
 */
const unsaved = new Map<string, unknown>()

/**
 * What a person typed on a card and has not sent. A draft belongs to one request and its reprompts, survives a reload,
 * and is removed when the request is settled. `isDraft` validates what is in storage, which may come from another
 * version of the app.
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
    browserStorage.write(key, null)
  }, [key, isOver])

  useEffect(() => {
    if (!unsaved.has(key)) return
    const timer = setTimeout(() => saveDraft(key), SAVE_DELAY_MS)
    return () => clearTimeout(timer)
  }, [key, draft])

  useEffect(() => {
    const saveNow = () => saveDraft(key)
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

/** Removes drafts of requests that were settled while no page was open, and that nothing else would remove. */
export function removeOldDrafts(now: number): void {
  for (const key of browserStorage.keys()) {
    if (!key.startsWith('draft.')) continue
    const entry = parseDraft(browserStorage.read(key))
    if (!entry || now - entry.at > MAX_DRAFT_AGE_MS) browserStorage.write(key, null)
  }
}

/** Joins the texts of a draft that are not blank, one on each line, to show them as unsent. */
export function joinTexts(texts: readonly unknown[]): string {
  return texts.filter((text) => typeof text === 'string' && text.trim() !== '').join('\n')
}

function saveDraft(key: string): void {
  if (!unsaved.has(key)) return
  const entry: StoredDraft = { at: Date.now(), draft: unsaved.get(key) }
  unsaved.delete(key)
  browserStorage.write(key, JSON.stringify(entry))
}

function readDraft<T>(key: string, isDraft: (value: unknown) => value is T): T | null {
  const draft = unsaved.get(key) ?? parseDraft(browserStorage.read(key))?.draft
  return isDraft(draft) ? draft : null
}

function parseDraft(text: string | null): StoredDraft | null {
  try {
    const value: unknown = JSON.parse(text ?? 'null')
    const isEntry = typeof value === 'object' && value !== null && 'at' in value && 'draft' in value
    return isEntry && typeof value.at === 'number' ? { at: value.at, draft: value.draft } : null
  } catch {
    return null
  }
}
