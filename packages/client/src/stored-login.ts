import { LOGIN_STORAGE_KEY, type Actor } from '@askback/protocol'

export interface StoredLogin {
  person: Actor
  proof: string
}

/** What the gateway's login page has stored in this page's origin; `null` without a login, or outside of browsers. */
export function storedLogin(): StoredLogin | null {
  const text = read()
  if (text === null) return null
  try {
    const { person, proof } = JSON.parse(text) as Partial<StoredLogin>
    return typeof proof === 'string' && typeof person?.id === 'string' ? { person, proof } : null
  } catch {
    return null
  }
}

/** The proof is a secret of this origin: no other gateway gets it. */
export function storedProof(baseUrl: string): string | null {
  if (!('location' in globalThis)) return null
  const { origin, href } = globalThis.location
  return new URL(baseUrl, href).origin === origin ? (storedLogin()?.proof ?? null) : null
}

function read(): string | null {
  try {
    return globalThis.localStorage?.getItem(LOGIN_STORAGE_KEY) ?? null
  } catch {
    // The browser blocks storage.
    return null
  }
}
