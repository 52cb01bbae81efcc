import { AskbackError } from '@askback/protocol'
import { createHash } from 'node:crypto'
import { accessSync, constants, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import * as z from 'zod'
import { SECURITY_HEADERS } from '../http/responses.js'
import { noRoute } from '../http/web-app.js'
import { type GatewayContext, route, type ApiRoute } from '../route.js'

/** The ES modules that draw kinds in the web app: their files by kind. */
export type RendererFiles = Readonly<Record<string, string>>

/** The address of the module of a kind, relative to that of the gateway; undefined if it has none. */
export function rendererPath(renderers: RendererFiles, kind: string): string | undefined {
  return Object.hasOwn(renderers, kind) ? `renderers/${kind}.js` : undefined
}

/** Throws if a file cannot be served, or is for a kind that is not one of these. */
export function checkRenderers(renderers: RendererFiles, kinds: readonly { kind: string }[]): void {
  for (const [kind, file] of Object.entries(renderers)) {
    const refuse = (why: string) =>
      new AskbackError('invalid_request', `The renderer of the kind ${kind} ${why}.`)
    if (!kinds.some((each) => each.kind === kind)) throw refuse('has no kind: add its definition to `kinds`')
    if (!['.js', '.mjs'].includes(extname(file)))
      throw refuse(`is ${file}, and browsers load .js and .mjs files only: compile it first`)
    try {
      accessSync(file, constants.R_OK)
    } catch {
      throw refuse(`cannot be read: there is no file ${file}`)
    }
    // A folder would fail, and a device never end, when a page asks for it.
    if (!statSync(file).isFile()) throw refuse(`is ${file}, which is not a file`)
  }
}

/**
 * Serves the modules. A page imports them without headers, so they are public like the files of the web app. No path of a request is ever
 * used as a path of a file: each module is one file that the operator named, and cannot import others by a relative address.
 */
export function rendererRoutes({ renderers }: GatewayContext): ApiRoute[] {
  return [
    route({
      name: 'readRenderer',
      method: 'GET',
      path: '/renderers/:file',
      allowed: 'anyone',
      action: 'public',
      summary: 'Returns the ES module that draws a kind in the web app',
      params: z.object({ file: z.string() }),
      responses: {
        200: {
          description: 'The module',
          types: ['text/javascript'],
          headers: { ETag: 'Changes with the file.' },
        },
        304: { description: 'The module has not changed', types: [] },
      },
      errors: [404],
      async handle({ params: { file: name }, request, reply }) {
        const [, kind = ''] = /^(\w+)\.js$/.exec(name) ?? []
        const file = Object.hasOwn(renderers, kind) ? renderers[kind] : undefined
        if (file === undefined) throw noRoute('GET', `/renderers/${name}`)
        const source = await readFile(file)
        const etag = `"${createHash('sha256').update(source).digest('base64url')}"`
        const isKnown = request.headers['if-none-match'] === etag
        void reply
          .code(isKnown ? 304 : 200)
          .headers({
            ...SECURITY_HEADERS,
            'content-type': 'text/javascript; charset=utf-8',
            // Asked for again on each load of the page, so that a changed file is seen at once.
            'cache-control': 'no-cache',
            etag,
          })
          .send(isKnown ? undefined : source)
        return { handled: true }
      },
    }),
  ]
}
