import { LOGIN_STORAGE_KEY, type Actor } from '@askback/protocol'

/** The login of this browser, as the page stores it. */
export interface StoredLogin {
  person: Actor
  /** The second secret of the login, which every request sends beside the cookie. */
  proof: string
}

/**
 * The login that the gateway's login page has stored for this page's origin. `null` if there is none, if the browser blocks
 * storage, or outside of browsers.
 *
 * @example
 * const login = storedLogin()
 * if (login) console.log(`Logged in as ${login.person.name ?? login.person.id}.`)
 */
export function storedLogin(): StoredLogin | null {
  const text = readStorage()
  if (text === null) return null
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- may be any JSON: the fields are checked below
    const { person, proof } = JSON.parse(text) as Partial<StoredLogin>
    return typeof proof === 'string' && typeof person?.id === 'string' ? { person, proof } : null
  } catch {
    return null
  }
}

/** The stored proof, but only for the gateway that served this page: it is a secret of this origin. */
export function storedProof(baseUrl: string): string | null {
  if (!('location' in globalThis)) return null
  const { origin, href } = globalThis.location
  return new URL(baseUrl, href).origin === origin ? (storedLogin()?.proof ?? null) : null
}

function readStorage(): string | null {
  try {
    return globalThis.localStorage?.getItem(LOGIN_STORAGE_KEY) ?? null
  } catch {
    // The browser blocks storage.
    return null
  }
}
