import { AskbackError } from '@askback/protocol'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { GatewayContext } from '../context.js'
import { SECURITY_HEADERS } from '../http/answers.js'
import { route, type Route } from '../route.js'

/** The database as one file, for the person whose gateway it is: it holds the secret that signs the tokens of agents. */
export function backupRoutes({ store, credentials }: GatewayContext): Route[] {
  return [
    route({
      name: 'backup',
      method: 'GET',
      path: '/api/backup',
      who: 'person',
      ownPagesOnly: true,
      summary:
        'A consistent copy of the database, for the person whose gateway it is; askback backup checks it',
      answers: { 200: { description: 'A database of SQLite', type: 'application/octet-stream' } },
      async handle({ credential, reply }) {
        if (credential.by.id !== credentials.owner.id)
          throw new AskbackError('forbidden', 'Only the person whose gateway this is may copy its database.')
        if (!store.copy) {
          throw new AskbackError(
            'invalid_request',
            'This gateway keeps its data in no file of its own: back up PostgreSQL with pg_dump, and restore it with pg_restore.',
          )
        }
        await store.copy(async ({ bytes, chunks }) => {
          reply.hijack()
          const { raw } = reply
          raw.writeHead(200, {
            ...SECURITY_HEADERS,
            'content-type': 'application/octet-stream',
            'content-length': bytes,
            'cache-control': 'no-store',
          })
          // One that fails halfway ends short of its length, which tells the reader. There is nobody else to tell.
          await pipeline(Readable.from(chunks, { objectMode: false }), raw).catch(() => undefined)
        })
        return { handled: true }
      },
    }),
  ]
}
