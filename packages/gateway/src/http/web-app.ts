import { AskbackError } from '@askback/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { extname, join, normalize, sep } from 'node:path'
import { mountOf } from '../mount/mount.js'
import type { GatewayContext } from '../route.js'
import { AppPages, scriptHashes } from './app-page.js'
import { SECURITY_HEADERS } from './responses.js'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
}

function appPolicy(folder: string | undefined): string {
  return [
    "default-src 'none'",
    ["script-src 'self'", ...scriptHashes(folder)].join(' '),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const PAGE_WITHOUT_APP = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Askback</title></head>
<body><h1>Askback</h1><p>The gateway runs. Its API is under <code>/api</code>; this build has no web app.</p></body></html>
`

/** Serves the files of the web app's build, and its page for every other path without an extension. */
export function serveWebApp(app: FastifyInstance, folder: string | undefined, context: GatewayContext): void {
  const policy = appPolicy(folder)
  const pages = folder === undefined ? null : new AppPages(folder)
  app.route<{ Params: { '*': string } }>({
    method: ['GET', 'HEAD'],
    url: '/*',
    onRequest(request, _reply, done) {
      context.admit(request.raw, 'GET')
      done()
    },
    async handler(request, reply) {
      const path = request.params['*']
      if (path.startsWith('api/') || path === 'api') throw noRoute(request.method, `/${path}`)
      if (folder === undefined || !pages) {
        if (path !== '') throw noRoute(request.method, `/${path}`)
        return reply.headers(headersFor('.html', { policy })).send(PAGE_WITHOUT_APP)
      }
      // Paths of the app have no extension. A missing file must be a 404, and not the page.
      if (extname(path) === '' || path === 'index.html') return sendPage(request, reply, pages, policy)
      return sendFile(request, reply, { folder, path, policy })
    },
  })
}

export function noRoute(method: string, path: string): AskbackError {
  return new AskbackError('not_found', `There is no ${method} ${path.slice(0, 200)}.`)
}

function sendPage(
  { raw, method, headers: { 'accept-encoding': accepted = '' } }: FastifyRequest,
  reply: FastifyReply,
  pages: AppPages,
  policy: string,
): FastifyReply {
  const mount = mountOf(raw)
  const page = pages.at({ prefix: mount?.prefix ?? '', sockets: mount?.upgrades ?? true })
  if (!page) throw noRoute(method, '/')
  const zipped = accepted.includes('gzip') ? page.zipped : null
  void reply.headers({
    ...headersFor('.html', { policy }),
    ...(zipped && { 'content-encoding': 'gzip' }),
    vary: 'accept-encoding',
    'content-length': (zipped ?? page.html).length,
  })
  return method === 'HEAD' ? reply.send() : reply.send(zipped ?? page.html)
}

/** Sends the `.gz` file that the build made beside large files, if the client accepts it. */
async function sendFile(
  { method, headers: { 'accept-encoding': accepted = '' } }: FastifyRequest,
  reply: FastifyReply,
  { folder, path, policy }: { folder: string; path: string; policy: string },
): Promise<FastifyReply> {
  const file = normalize(join(folder, path))
  if (!file.startsWith(folder + sep) || path.includes('\0')) throw noRoute(method, `/${path}`)
  const found = await stat(file).catch(() => null)
  if (!found?.isFile()) throw noRoute(method, `/${path}`)
  // The names of files in `assets` contain a hash of their content.
  const headers = headersFor(extname(file), { policy, isImmutable: path.startsWith('assets/') })
  const zipped = accepted.includes('gzip') ? await stat(`${file}.gz`).catch(() => null) : null
  void reply.headers({
    ...headers,
    ...(zipped && { 'content-encoding': 'gzip' }),
    vary: 'accept-encoding',
    'content-length': (zipped ?? found).size,
  })
  return method === 'HEAD' ? reply.send() : reply.send(createReadStream(zipped ? `${file}.gz` : file))
}

function headersFor(
  extension: string,
  { policy, isImmutable = false }: { policy: string; isImmutable?: boolean },
): Record<string, string> {
  return {
    ...SECURITY_HEADERS,
    'content-security-policy': policy,
    'content-type': TYPES[extension] ?? 'application/octet-stream',
    'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  }
}
