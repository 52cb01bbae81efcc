import { memoryStore } from '@askback/core'
import {
  createAskback,
  type EmbeddedAskback,
  type AuthenticatedActor,
  type MountOptions,
} from '@askback/gateway'
import type { Interaction } from '@askback/protocol'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { madeOnce } from '../http/made-once.js'
import { newPage, pressUntil } from './browser.js'
import { buildApp } from './build-app.js'
import { otherPort } from './other-port.js'

const PREFIX = '/tools/askback'
const webApp = await madeOnce('web', (folder) => buildApp('web', folder))

interface Member extends AuthenticatedActor {
  tenant: string
}
function memberIn(cookie: string | null | undefined): Member | null {
  const [, name, tenant] = /member=(\w+)-(\w+)/.exec(cookie ?? '') ?? []
  if (name === undefined || tenant === undefined) return null
  return { id: name, name, role: 'person', tenant, tags: { tenant } }
}
const authorize: MountOptions<unknown, Member>['authorize'] = ({ tenant }, { session }) =>
  session?.tags.tenant === tenant
const authenticate = ({ headers }: IncomingMessage) => memberIn(headers.cookie)

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** A product with pages of its own, which signs people in by a cookie and has Askback under a path. */
async function product(mount: (askback: EmbeddedAskback) => Handler): Promise<{
  url: string
  askback: EmbeddedAskback
  server: ReturnType<typeof createServer>
}> {
  const errors: unknown[] = []
  const askback = createAskback({
    store: () => memoryStore(),
    webApp,
    onError: (error) => errors.push(error),
  })
  const handle = mount(askback)
  const server = createServer((request, response) => {
    if (request.url?.startsWith(PREFIX)) handle(request, response)
    else response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Product</title>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await askback.close()
    server.closeAllConnections()
    server.close()
    expect(errors).toEqual([])
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, askback, server }
}

/** What Express does before it calls a handler. */
function underPrefix(handler: Handler): Handler {
  return (request, response) => {
    Object.assign(request, { baseUrl: PREFIX, url: request.url!.slice(PREFIX.length) || '/' })
    handler(request, response)
  }
}

async function ask({ desk }: EmbeddedAskback, tenant: string, question: string): Promise<Interaction> {
  const { session } = await desk.createSession({ agent: null, title: question, tags: { tenant } })
  const options = [{ label: 'Yes' }, { label: 'No' }]
  const { interaction } = await desk.open({
    sessionId: session.id,
    kind: 'question',
    toolCallId: 'call',
    request: { questions: [{ header: 'Ship', question, options, multiSelect: false }] },
  })
  return interaction
}

const answered = { settlement: 'answered', by: { id: 'ann', name: 'ann' }, via: 'web' }

/** A person of one tenant answers in the web app, and sees nothing of the other tenant. */
async function answerInBrowser(askback: EmbeddedAskback, url: string): Promise<Interaction> {
  await ask(askback, 'globex', 'Is this hidden?')
  const { interactionId, sessionId } = await ask(askback, 'acme', 'Ship it?')
  const page = await newPage()
  await page.context().addCookies([{ name: 'member', value: 'ann-acme', url, sameSite: 'Lax' }])
  await page.goto(`${url}${PREFIX}#/inbox`)
  const card = page.locator(`[data-interaction="${interactionId}"]`)
  await card.waitFor()
  // What is asked while the page is open arrives on its stream.
  await ask(askback, 'globex', 'Is this hidden, too?')
  const later = await ask(askback, 'acme', 'Ship that, too?')
  await page.locator(`[data-interaction="${later.interactionId}"]`).waitFor()
  await expect.poll(() => page.title()).toBe('(2) Askback')
  await expect.poll(() => page.getByText('hidden').count()).toBe(0)
  await card.getByRole('radio', { name: 'Yes' }).click()
  const read = () => askback.desk.interaction(sessionId, interactionId)
  await pressUntil(
    card.getByRole('button', { name: 'Submit' }),
    async () => (await read()).status === 'settled',
  )
  return read()
}

it('the web app works under a path of a product, with its login, over a WebSocket', async () => {
  let attach: (server: ReturnType<typeof createServer>) => () => void = () => () => undefined
  const { askback, url, server } = await product((made) => {
    const handler = made.express({ authenticate, authorize })
    attach = handler.attach.bind(handler)
    return underPrefix(handler)
  })
  attach(server)
  const sockets: string[] = []
  server.on('upgrade', ({ url: path }: IncomingMessage) => sockets.push(path ?? ''))
  const item = await answerInBrowser(askback, url)
  expect(item).toMatchObject(answered)
  expect(sockets.length).toBeGreaterThan(0)
})

it('the web app works with fetch handlers, which have no WebSockets', async () => {
  const { askback, url } = await product((made) => {
    const { GET } = made.fetchHandlers({
      prefix: PREFIX,
      authenticate: ({ headers }) => memberIn(headers.get('cookie')),
      authorize,
    })
    return (request, response) => void answerWithFetch(request, response, GET)
  })
  const item = await answerInBrowser(askback, url)
  expect(item).toMatchObject(answered)
})

async function answerWithFetch(
  request: IncomingMessage,
  response: ServerResponse,
  handle: (request: Request) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const { method = 'GET', url = '', headers } = request
  const reply = await handle(
    new Request(new URL(url, `http://${headers.host}`), {
      method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      signal: gone.signal,
      ...(method === 'POST' && { body: Readable.toWeb(request) as ReadableStream, duplex: 'half' }),
    }),
  )
  response.writeHead(reply.status, [...reply.headers].flat())
  response.flushHeaders()
  const { body } = reply
  if (!body) response.end()
  else
    Readable.fromWeb(body as never)
      .on('error', () => response.destroy())
      .pipe(response)
}

it('a page of another origin uses the cookie of the product only if cors allows that', async () => {
  const [allowed, foreign] = [await otherPort(), await otherPort()]
  const { url } = await product((made) =>
    underPrefix(
      made.express({ authenticate, authorize, cors: { origins: [allowed.url], credentials: true } }),
    ),
  )
  const strict = await product((made) =>
    underPrefix(made.express({ authenticate, authorize, cors: [allowed.url] })),
  )
  const page = await newPage()
  const call = (gateway: string, credentials: 'include' | 'omit') =>
    page.evaluate(
      async ({ path, mode }) => {
        const made = await fetch(path, {
          method: 'POST',
          credentials: mode,
          headers: { 'content-type': 'application/json' },
          body: '{"agent":null}',
        })
        return made.status
      },
      { path: `${gateway}${PREFIX}/api/sessions`, mode: credentials },
    )
  await page.context().addCookies([{ name: 'member', value: 'ann-acme', url, sameSite: 'Lax' }])
  await page.goto(allowed.url)
  const [included, omitted] = [await call(url, 'include'), await call(url, 'omit')]
  expect({ included, omitted }).toEqual({ included: 201, omitted: 401 })
  await expect(call(strict.url, 'include')).rejects.toThrow('Failed to fetch')
  const { items } = await strict.askback.desk.sessions()
  expect(items).toEqual([])
  await page.goto(foreign.url)
  await expect(call(url, 'include')).rejects.toThrow('Failed to fetch')
})
