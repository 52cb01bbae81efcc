/**
 * A browser login has two halves, because cookies ignore ports: any server on another port of the same host receives
 * them. The cookie names the login; the proof, which the page keeps in the storage of its own origin, shows that the
 * request comes from that page.
 */
export const PROOF_HEADER = 'askback-proof'

/** Where a page keeps what `POST /api/login` answered, as JSON, in the local storage of its origin. */
export const LOGIN_STORAGE_KEY = 'askback.login'
