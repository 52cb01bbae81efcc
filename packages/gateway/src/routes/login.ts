import { AskbackError } from '@askback/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { GatewayContext } from '../context.js'
import { SECURITY_HEADERS } from '../http/answers.js'
import { once } from '../http/once.js'
import { route, type Route } from '../route.js'

const made = z.object({ openUrl: z.string() })

/** A browser brings a one-time code and gets a cookie: no token ever stands in an address. */
export function loginRoutes({ credentials, failedLogins, store }: GatewayContext): Route[] {
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
        const code = credentials.newCode(idempotencyKey)
        const keep = async () => credentials.keepCode(code, credential.by)
        const how = await once(store, idempotencyKey, {}, keep)
        const openUrl = `${request.protocol}://${request.host}/login?code=${code}`
        return { status: how === 'seen' ? 200 : 201, body: { openUrl } }
      },
    }),
    route({
      name: 'login',
      method: 'GET',
      path: '/login',
      who: 'anyone',
      summary: 'Exchanges a one-time code for a cookie',
      query: z.object({ code: z.string().optional() }),
      answers: { 303: { description: 'To the web app, with a cookie', type: 'text/plain' } },
      errors: [401, 429],
      async handle({ query: { code = '' }, request, reply }) {
        const login = await credentials.logIn(code)
        if (!login) {
          failedLogins.note(request.ip)
          return refuse(request, reply)
        }
        const { cookie, maxAgeSeconds } = login
        void reply
          .code(303)
          .headers({
            ...SECURITY_HEADERS,
            'cache-control': 'no-store',
            location: '/',
            'set-cookie': `${credentials.cookieName}=${cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${maxAgeSeconds}`,
          })
          .send()
        return { handled: true }
      },
    }),
  ]
}

const REFUSAL = 'This link has been used, or is older than 10 minutes.'

/** Whoever clicks an old link reads a page, not JSON. */
function refuse({ headers: { accept = '' } }: FastifyRequest, reply: FastifyReply): { handled: true } {
  if (!accept.includes('text/html')) {
    throw new AskbackError('unauthorized', `${REFUSAL} askback open makes a new one.`)
  }
  void reply
    .code(401)
    .headers({ ...SECURITY_HEADERS, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    .send(
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Askback</title></head><body><h1>Askback</h1><p>${REFUSAL} If this browser is logged in, <a href="/">go on</a>; if not, run <code>askback open</code>.</p></body></html>`,
    )
  return { handled: true }
}
