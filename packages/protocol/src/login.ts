/**
 * The names that browser logins use. Cookies ignore ports: a server on another port of the same host receives ours. So a login
 * has two secrets. The cookie names the login; the proof stays in the local storage of the page's own origin, and shows that a
 * request comes from that page.
 *
 * They are not in `requests.ts`, because clients would then bundle the schemas of all requests.
 */

/** The header that carries the proof. */
export const PROOF_HEADER = 'askback-proof'

/** Where a page stores the response of `POST /api/login`, as JSON, in the local storage of its origin. */
export const LOGIN_STORAGE_KEY = 'askback.login'
