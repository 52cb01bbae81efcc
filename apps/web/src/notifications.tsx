import type { InboxView, NewRequest } from '@askback/client'
import { spellOutLine, type ByKind } from '@askback/protocol'
import { useEffect, useRef, useState } from 'react'
import { base } from './base.js'
import { hrefOf } from './route.js'

/**
 * Shows a notification for each request that arrives while the window is hidden, and closes it when the request is
 * settled. It never asks for the permission.
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
    for (const [id, closeNotification] of shown.current) {
      if (now.has(id)) continue
      closeNotification()
      shown.current.delete(id)
    }
    if (!before || !document.hidden || !canNotify()) return
    for (const item of waiting) {
      if (!before.has(item.interactionId)) shown.current.set(item.interactionId, showNotification(item))
    }
  }, [items, unlisted])
}

export function canNotify(): boolean {
  return 'Notification' in window && Notification.permission === 'granted'
}

export function canAskToNotify(): boolean {
  return 'Notification' in window && Notification.permission === 'default'
}

const titles: ByKind<string> = {
  question: 'An agent has a question',
  approval: 'An agent asks for permission',
  plan_review: 'An agent has a plan for you',
  form: 'An agent has a form for you',
}

/** Shows a notification; a click on it opens the session. Returns a function that closes it. */
function showNotification({ sessionId, interactionId, kind, toolName }: NewRequest): () => void {
  const title = titles[kind] ?? 'An agent waits for you'
  const hash = hrefOf({ page: 'session', sessionId })
  const options: NotificationOptions = {
    body: spellOutLine(toolName, 'code'),
    tag: interactionId,
    data: hash,
  }
  try {
    const shown = new Notification(title, options)
    shown.addEventListener('click', () => {
      window.focus()
      location.hash = hash
      shown.close()
    })
    return () => shown.close()
  } catch {
    // Most phones allow notifications only from a service worker. If that fails too, the count in the title has to
    // suffice.
    const shownByWorker = runInSequence(() => showByWorker(title, options)).catch(() => undefined)
    return () =>
      void shownByWorker.then((worker) => worker && runInSequence(() => closeByWorker(worker, interactionId)))
  }
}

/**
 * Runs tasks one after the other. If a notification is shown while others are being listed, Chromium loses it, and it
 * could no longer be clicked or closed.
 */
function runInSequence<T>(work: () => Promise<T>): Promise<T> {
  const task = lastTask.then(work)
  lastTask = task.catch(() => undefined)
  return task
}

let lastTask: Promise<unknown> = Promise.resolve()

async function showByWorker(title: string, options: NotificationOptions): Promise<ServiceWorkerRegistration> {
  const { serviceWorker } = navigator
  await serviceWorker.register(`${base}notification-worker.js`)
  serviceWorker.addEventListener('message', openSession)
  serviceWorker.startMessages()
  const worker = await serviceWorker.ready
  await worker.showNotification(title, options)
  return worker
}

function openSession({ data }: MessageEvent<string>): void {
  location.hash = data
}

async function closeByWorker(worker: ServiceWorkerRegistration, tag: string): Promise<void> {
  for (const shown of await worker.getNotifications({ tag })) shown.close()
}

const OFFERED_KEY = 'askback.notify-offered'

/**
 * Offers notifications once, when a request waits for the first time. Later they can be turned on in the settings.
 */
export function NotifyOffer() {
  const [isDone, setDone] = useState(() => localStorage.getItem(OFFERED_KEY) !== null || !canAskToNotify())
  if (isDone) return null
  const close = () => {
    localStorage.setItem(OFFERED_KEY, 'yes')
    setDone(true)
  }
  return (
    <div className="border-t border-line px-4 py-3 text-xs">
      <p>Notify you when an agent needs you?</p>
      <div className="mt-2 flex gap-1">
        <button
          type="button"
          className="rounded-md border border-line bg-raised px-2 py-1 font-medium hover:bg-line/60"
          onClick={() => void Notification.requestPermission().finally(close)}
        >
          Turn on
        </button>
        <button type="button" className="rounded-md px-2 py-1 text-soft hover:text-ink" onClick={close}>
          No, thanks
        </button>
      </div>
    </div>
  )
}
