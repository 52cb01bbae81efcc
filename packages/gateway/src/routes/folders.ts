import * as z from 'zod'
import { findFolder } from '../folders.js'
import { route, type ApiRoute, type GatewayContext } from '../route.js'

const folder = z.object({
  path: z.string().meta({ description: 'The path, with the home folder in place of `~`.' }),
  problem: z.string().nullable().meta({ description: 'Why no agent can work there; `null` if one can.' }),
})

/** For people only: an agent must not learn what is on the disk without an approval. */
export function folderRoutes({ folders }: GatewayContext): ApiRoute[] {
  if (!folders) return []
  return [
    route({
      name: 'findFolder',
      method: 'GET',
      path: '/api/folders',
      allowed: 'person',
      action: 'administer',
      summary: 'Says whether an agent can work in a folder of this machine',
      query: z.object({ path: z.string().min(1).max(4096) }),
      responses: { 200: folder },
      handle: async ({ query }) => ({ status: 200, body: await findFolder(query.path) }),
    }),
  ]
}
