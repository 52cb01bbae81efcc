import type { Arrival } from '@askback/client'
import { spellOutLine } from '@askback/protocol'
import { hrefOf } from './route.js'

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

/** A click on it leads to where it was asked. Returns how to take it back. */
export function notify({ sessionId, interactionId, kind, toolName }: Arrival): () => void {
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
    // On most phones only a service worker may; where that can't either, the count in the title has to do.
    const showing = inTurn(() => notifyByWorker(title, options)).catch(() => undefined)
    return () => void showing.then((worker) => worker && inTurn(() => closeByWorker(worker, interactionId)))
  }
}

/** While the shown ones are looked up, Chromium loses one that is shown just then: it could no longer be clicked or taken back. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = last.then(work)
  last = turn.catch(() => undefined)
  return turn
}

let last: Promise<unknown> = Promise.resolve()

async function notifyByWorker(
  title: string,
  options: NotificationOptions,
): Promise<ServiceWorkerRegistration> {
  const { serviceWorker } = navigator
  await serviceWorker.register(`${import.meta.env.BASE_URL}notification-worker.js`)
  serviceWorker.addEventListener('message', follow)
  serviceWorker.startMessages()
  const worker = await serviceWorker.ready
  await worker.showNotification(title, options)
  return worker
}

function follow({ data }: MessageEvent<string>): void {
  location.hash = data
}

async function closeByWorker(worker: ServiceWorkerRegistration, tag: string): Promise<void> {
  for (const shown of await worker.getNotifications({ tag })) shown.close()
}
