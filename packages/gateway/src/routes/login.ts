import { AskbackError } from '@askback/protocol'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { underOwnName } from '../http/admission.js'
import { seedOf } from '../http/authenticate.js'
import { once } from '../http/idempotent.js'
import { redirectLoginPage, sendLoginPage, sendUsedLinkPage } from '../http/login-page.js'
import { type GatewayContext, route, type Route } from '../route.js'
import { done, ok } from './schemas.js'

/** A code is about 50 characters. */
const LOGIN_BYTES = 16 * 1024
const made = z.object({ openUrl: z.string() })
const actor = z.object({ id: z.string(), name: z.string().optional() })

/**
 * A browser brings a one-time code and gets a login in two halves: a cookie, and a proof that its page keeps. No token
 * ever stands in an address.
 */
export function loginRoutes({ credentials, failedLogins, proxies, store, ownUrl }: GatewayContext): Route[] {
  const cookie = ({ raw }: FastifyRequest, value: string, maxAgeSeconds: number) => {
    const secure = proxies.isSecure(raw) ? '; Secure' : ''
    return `${credentials.cookieName}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${maxAgeSeconds}${secure}`
  }

  return [
    route({
      name: 'createLogin',
      method: 'POST',
      path: '/api/logins',
      who: 'person',
      summary: 'Makes a link that logs another browser of the same person in, once',
      answers: { 201: made, 200: made },
      errors: [409],
      async handle({ credential, origin: { idempotencyKey }, request }) {
        const code = credentials.newCode(seedOf(request.headers, idempotencyKey))
        const keep = async () => credentials.keepCode(code, credential.by)
        const how = await once(store, idempotencyKey, {}, keep)
        const scheme = proxies.isSecure(request.raw) ? 'https' : 'http'
        const openUrl = `${scheme}://${request.headers.host}/login?code=${code}`
        return { status: how === 'seen' ? 200 : 201, body: { openUrl } }
      },
    }),
    route({
      name: 'loginPage',
      method: 'GET',
      path: '/login',
      who: 'anyone',
      summary: 'A page that logs in with the code in its address; fetching it logs nobody in',
      query: z.object({ code: z.unknown().optional() }),
      answers: {
        200: { description: 'The page', type: 'text/html' },
        307: { description: 'The same page under the name that this gateway uses itself', type: 'text/html' },
      },
      errors: [401, 429],
      handle({ query: { code }, request, reply }) {
        const person = typeof code === 'string' ? credentials.personOfCode(code) : null
        // Behind a proxy that ends TLS the names are the proxy's.
        const own = proxies.isSecure(request.raw) === (ownUrl()?.protocol === 'https:') ? ownUrl() : null
        const elsewhere = underOwnName(request.url, request.headers.host, own)
        if (person && elsewhere !== null) redirectLoginPage(reply, elsewhere)
        else if (person) sendLoginPage(reply, person)
        else {
          failedLogins.note(proxies.addressOf(request.raw))
          sendUsedLinkPage(reply)
        }
        return { handled: true }
      },
    }),
    route({
      name: 'login',
      method: 'POST',
      path: '/api/login',
      who: 'anyone',
      ownPagesOnly: true,
      summary: 'Exchanges a one-time code for a cookie and the proof that goes with it',
      body: z.object({ code: z.string() }),
      bodyBytes: LOGIN_BYTES,
      answers: { 200: z.object({ person: actor, proof: z.string() }) },
      errors: [401, 429],
      async handle({ body: { code }, request }) {
        const login = await credentials.logIn(code)
        if (!login) {
          failedLogins.note(proxies.addressOf(request.raw))
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
      who: 'person',
      summary: 'Ends this browser login, or with `all` every browser login of a person',
      body: z.object({ all: z.boolean().optional(), person: z.string().optional() }).optional(),
      answers: { 200: ok },
      errors: [404],
      async handle({ body: { all = false, person } = {}, credential, origin, request }) {
        if (all) await credentials.logOutEverywhere(person ?? credential.by.id, origin)
        else if (person !== undefined || credential.via !== 'web') {
          throw new AskbackError(
            'invalid_request',
            'A token has no browser login to end. Send { "all": true } to end all of this person.',
          )
        } else await credentials.logOut(credential)
        return { ...done, ...(credential.via === 'web' && !person && { setCookie: cookie(request, '', 0) }) }
      },
    }),
  ]
}
