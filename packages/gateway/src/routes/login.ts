import { actor, AskbackError } from '@askback/protocol'
import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { PersonCredential } from '../credentials/credential.js'
import { urlUnderOwnName } from '../http/admission.js'
import { idempotent, secretSeed } from '../http/idempotent.js'
import { redirectLoginPage, sendLoginPage, sendUsedLinkPage } from '../http/login-page.js'
import { prefixOf } from '../mount/mount.js'
import { type GatewayContext, route, type ApiRoute } from '../route.js'
import { okResponse, ok } from './schemas.js'

/** More than enough for a code, which is about 50 characters long. */
const MAX_LOGIN_BYTES = 16 * 1024
const createdLogin = z.object({ openUrl: z.string() })

/** Login and logout of browsers: see `BrowserLogins`. */
export function loginRoutes({
  credentials,
  failedLogins,
  proxies,
  store,
  ownUrl,
}: GatewayContext): ApiRoute[] {
  const cookie = ({ raw }: FastifyRequest, value: string, maxAgeSeconds: number) => {
    const secure = proxies.isSecure(raw) ? '; Secure' : ''
    // A semicolon would end the attribute. The prefix may come from the request, if it has a parameter.
    const path = prefixOf(raw).replaceAll(';', '%3B')
    return `${credentials.cookieName}=${value}; HttpOnly; SameSite=Strict; Path=${path}/; Max-Age=${maxAgeSeconds}${secure}`
  }

  return [
    route({
      name: 'createLogin',
      method: 'POST',
      path: '/api/logins',
      allowed: 'person',
      action: 'harmless',
      summary: 'Creates a one-time link that logs in another browser of the same person',
      responses: { 201: createdLogin, 200: createdLogin },
      errors: [409],
      async handle({ credential, idempotencyKey, request }) {
        checkOwnLogin(credential)
        const code = credentials.logins.newCode(secretSeed(request.headers, idempotencyKey))
        const addCode = async () => credentials.logins.addCode(code, credential.by)
        const result = await idempotent(store, idempotencyKey, {}, addCode)
        const scheme = proxies.isSecure(request.raw) ? 'https' : 'http'
        const openUrl = `${scheme}://${request.headers.host}${prefixOf(request.raw)}/login?code=${code}`
        return { status: result === 'repeated' ? 200 : 201, body: { openUrl } }
      },
    }),
    route({
      name: 'showLoginPage',
      method: 'GET',
      path: '/login',
      allowed: 'anyone',
      action: 'public',
      summary:
        'Returns a page that logs in with the code in its URL; fetching the page alone does not use the code',
      query: z.object({ code: z.unknown().optional() }),
      responses: {
        200: { description: 'The page', types: ['text/html'] },
        307: {
          description: 'Redirects to the same page under the host name of this gateway',
          types: ['text/html'],
        },
      },
      errors: [401, 429],
      handle({ query: { code }, request, reply }) {
        const prefix = prefixOf(request.raw)
        const person = typeof code === 'string' ? credentials.personOfCode(code) : null
        // Behind a proxy that terminates TLS, the URL of this gateway is not the one that browsers use.
        const own = proxies.isSecure(request.raw) === (ownUrl()?.protocol === 'https:') ? ownUrl() : null
        const ownNameUrl = urlUnderOwnName(request.url, request.headers.host, own)
        if (person && ownNameUrl !== null) redirectLoginPage(reply, ownNameUrl)
        else if (person) sendLoginPage(reply, person, prefix)
        else {
          failedLogins.count(proxies.addressOf(request.raw))
          sendUsedLinkPage(reply, prefix)
        }
        return { handled: true }
      },
    }),
    route({
      name: 'login',
      method: 'POST',
      path: '/api/login',
      allowed: 'anyone',
      action: 'public',
      ownPagesOnly: true,
      summary: 'Exchanges a one-time code for a login cookie and its proof',
      body: z.object({ code: z.string() }),
      bodyBytes: MAX_LOGIN_BYTES,
      responses: {
        200: {
          description: 'Logged in',
          types: [],
          json: z.object({ person: actor, proof: z.string() }),
          headers: { 'Set-Cookie': 'The login. Browsers keep it, and scripts of a page cannot read it.' },
        },
      },
      errors: [401, 429],
      async handle({ body: { code }, request }) {
        const login = await credentials.logins.logIn(code)
        if (!login) {
          failedLogins.count(proxies.addressOf(request.raw))
          throw new AskbackError(
            'unauthorized',
            'This link has been used, or is older than 10 minutes. Run askback open for a new one.',
          )
        }
        const { person, proof, maxAgeSeconds } = login
        return {
          status: 200,
          body: { person, proof },
          setCookie: cookie(request, login.cookie, maxAgeSeconds),
        }
      },
    }),
    route({
      name: 'logout',
      method: 'POST',
      path: '/api/logout',
      allowed: 'person',
      action: 'checked',
      summary: 'Ends this browser login, or with `all` every browser login of a person',
      body: z.object({ all: z.boolean().optional(), person: z.string().optional() }).optional(),
      responses: { 200: ok },
      errors: [404],
      async handle({ body: { all = false, person } = {}, credential, access, host: { desk }, request }) {
        checkOwnLogin(credential)
        if (person !== undefined && person !== credential.by.id) await access?.checkAdminister()
        if (all) await credentials.logins.logOutEverywhere(person ?? credential.by.id, desk.caller)
        else if (person !== undefined || credential.via !== 'web') {
          throw new AskbackError(
            'invalid_request',
            'A token has no browser login to end. Send { "all": true } to end all of this person.',
          )
        } else await credentials.logins.logOut(credential)
        return {
          ...okResponse,
          ...(credential.via === 'web' && !person && { setCookie: cookie(request, '', 0) }),
        }
      },
    }),
  ]
}

/** Askback can make and end its own logins only. */
function checkOwnLogin({ external }: PersonCredential): void {
  if (!external) return
  throw new AskbackError(
    'invalid_request',
    'You are signed in by the program around Askback: sign in and out there.',
  )
}
