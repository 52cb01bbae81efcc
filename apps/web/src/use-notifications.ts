import type { Interaction } from '@askback/protocol'
import { useEffect, useRef } from 'react'
import { canNotify, notify } from './notify.js'

/**
 * Tells of what begins to wait while nobody looks at the window, and takes it back when it waits no more. It never asks for
 * the permission itself.
 */
export function useNotifications(items: readonly Interaction[] | null): void {
  const known = useRef<Set<string> | null>(null)
  const shown = useRef(new Map<string, () => void>())
  useEffect(() => {
    if (!items) return
    const before = known.current
    const now = new Set(items.map(({ interactionId }) => interactionId))
    known.current = now
    for (const [id, takeBack] of shown.current) {
      if (now.has(id)) continue
      takeBack()
      shown.current.delete(id)
    }
    if (!before || !document.hidden || !canNotify()) return
    for (const item of items) {
      if (!before.has(item.interactionId)) shown.current.set(item.interactionId, notify(item))
    }
  }, [items])
}
