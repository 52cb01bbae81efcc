import type { Interaction } from '@askback/protocol'
import { useEffect, useRef } from 'react'
import { goTo } from './route.js'

/** Tells of what begins to wait while nobody looks at the window. It never asks for the permission itself. */
export function useNotifications(items: readonly Interaction[] | null): void {
  const known = useRef<Set<string> | null>(null)
  useEffect(() => {
    if (!items) return
    const before = known.current
    known.current = new Set(items.map(({ interactionId }) => interactionId))
    if (!before || !document.hidden || !canNotify()) return
    for (const item of items) if (!before.has(item.interactionId)) notify(item)
  }, [items])
}

export function canNotify(): boolean {
  return 'Notification' in window && Notification.permission === 'granted'
}

export function canAskToNotify(): boolean {
  return 'Notification' in window && Notification.permission === 'default'
}

const titles: Record<string, string> = {
  question: 'An agent has a question',
  approval: 'An agent asks for permission',
  plan_review: 'An agent has a plan for you',
  form: 'An agent has a form for you',
}

function notify(item: Interaction): void {
  const { sessionId } = item
  const shown = newNotification(item)
  shown?.addEventListener('click', () => {
    window.focus()
    goTo({ page: 'session', sessionId })
    shown.close()
  })
}

/** Some phones have the class and let nobody use it. */
function newNotification({ interactionId, kind, toolName }: Interaction): Notification | null {
  try {
    return new Notification(titles[kind] ?? 'An agent waits for you', { body: toolName, tag: interactionId })
  } catch {
    return null
  }
}
