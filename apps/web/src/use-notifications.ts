import type { InboxView } from '@askback/client'
import { useEffect, useRef } from 'react'
import { canNotify, notify } from './notify.js'

/**
 * Shows a notification for each request that arrives while the window is hidden, loaded or not, and closes it when the
 * request is settled. It never asks for the permission itself.
 */
export function useNotifications({ items, unlisted }: Pick<InboxView, 'items' | 'unlisted'>): void {
  const known = useRef<Set<string> | null>(null)
  const shown = useRef(new Map<string, () => void>())
  useEffect(() => {
    if (!items) return
    const before = known.current
    const waiting = [...items, ...unlisted]
    const now = new Set(waiting.map(({ interactionId }) => interactionId))
    known.current = now
    for (const [id, takeBack] of shown.current) {
      if (now.has(id)) continue
      takeBack()
      shown.current.delete(id)
    }
    if (!before || !document.hidden || !canNotify()) return
    for (const item of waiting) {
      if (!before.has(item.interactionId)) shown.current.set(item.interactionId, notify(item))
    }
  }, [items, unlisted])
}
