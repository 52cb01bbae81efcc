import { AskbackError } from '@askback/protocol'
import { z } from 'zod'
import type { GatewayContext } from '../context.js'
import { SECURITY_HEADERS } from '../http/answers.js'
import { route, type Route } from '../route.js'

/** A browser brings a one-time code and gets a cookie: no token ever stands in an address. */
export function loginRoutes({ credentials, failedLogins }: GatewayContext): Route[] {
  return [
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
          throw new AskbackError(
            'unauthorized',
            'This link has been used or is older than 10 minutes. Start `askback serve` again for a new one.',
          )
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
