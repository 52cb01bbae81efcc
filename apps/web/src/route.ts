import { useSyncExternalStore } from 'react'

export type Route =
  | { page: 'home' }
  | { page: 'inbox' }
  | { page: 'new' }
  | { page: 'session'; sessionId: string }

/**
 * The current route. It is in the address after `#`, so that a reload and a shared link show the same page, and the
 * gateway needs no routes for it.
 */
export function useRoute(): Route {
  return parse(useSyncExternalStore(subscribe, () => location.hash))
}

export function hrefOf(route: Route): string {
  switch (route.page) {
    case 'home':
      return '#/'
    case 'inbox':
      return '#/inbox'
    case 'new':
      return '#/new'
    case 'session':
      return `#/s/${encodeURIComponent(route.sessionId)}`
  }
}

export function goTo(route: Route): void {
  location.hash = hrefOf(route)
}

function parse(hash: string): Route {
  const [, page, id] = hash.split('/')
  if (page === 'inbox') return { page: 'inbox' }
  if (page === 'new') return { page: 'new' }
  if (page === 's' && id) return { page: 'session', sessionId: decoded(id) }
  return { page: 'home' }
}

/** An address that was cut off decodes to an id without a session, and that page says so. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener)
  return () => window.removeEventListener('hashchange', listener)
}
