import { storedLogin } from '@askback/client'
import { LOGIN_STORAGE_KEY, PROOF_HEADER } from '@askback/protocol'
import { base } from './base.js'

/** Calls the gateway that served this page, as the signed-in person. `path` is that of a route after `/api/`. */
export function callGateway(
  path: string,
  init: { body?: unknown; signal?: AbortSignal } = {},
): Promise<Response> {
  const proof = storedLogin()?.proof
  const { body, signal } = init
  return fetch(`${base}api/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(proof !== undefined && { [PROOF_HEADER]: proof }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  })
}

/**
 * Ends this login, or all logins of this person, removes what they wrote from storage, and reloads the page. Throws
 * if the gateway did not confirm it.
 */
export async function signOut({ everywhere }: { everywhere: boolean }): Promise<void> {
  const response = await callGateway('logout', { body: { all: everywhere } }).catch(() => null)
  // 401: the login was already ended elsewhere, and only this browser still has its data.
  if (!response?.ok && response?.status !== 401) {
    throw new Error('You are still signed in: the gateway did not answer. Try again.')
  }
  forgetPerson()
  location.reload()
}

/**
 * Removes drafts and unsent answers: they belong to the person who wrote them, and nobody else may find or send them.
 */
function forgetPerson(): void {
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith('askback.') && key !== 'askback.theme') localStorage.removeItem(key)
  }
}

/**
 * Calls `act` when another window of this browser changes the shared login: `renewed` for the same person, else
 * `replaced`.
 */
export function onLoginChange(act: (change: 'renewed' | 'replaced') => void): () => void {
  const person = storedLogin()?.person.id
  const listen = ({ key }: StorageEvent) => {
    // `null` if the whole storage was cleared.
    if (key !== LOGIN_STORAGE_KEY && key !== null) return
    const now = storedLogin()?.person.id
    act(now !== undefined && (person === undefined || now === person) ? 'renewed' : 'replaced')
  }
  window.addEventListener('storage', listen)
  return () => window.removeEventListener('storage', listen)
}

/** Whether the browser allows `localStorage`, where the login is stored. */
export function canStore(): boolean {
  try {
    localStorage.setItem('askback.test', '1')
    localStorage.removeItem('askback.test')
    return true
  } catch {
    return false
  }
}
