import { AskbackError } from '@askback/protocol/errors'
import { randomUUID } from 'node:crypto'
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import openInBrowser from 'open'
import { defaultDataFolder } from './data-folder.js'
import { gatewayOnFolder } from './reach/gateway-client.js'
import { sendRequest } from './reach/http.js'
import { printJson } from './terminal.js'

export const OPEN_FLAGS = {
  data: { type: 'string' },
  print: { type: 'boolean' },
  json: { type: 'boolean' },
} as const

/** The names of the files that lead a browser to a login link. */
const LINK_FILE = /^open-[0-9a-f-]+\.html$/
/** How long a browser may take to start before the file is removed. */
const BROWSER_TIMEOUT_MS = 30_000
const CHECK_EVERY_MS = 300
/** The lifetime of a login code. */
const MAX_FILE_AGE_MS = 10 * 60_000

/** `askback open`: signs another browser in, at the gateway that runs here. */
export async function open(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: OPEN_FLAGS })
  const folder = values.data ?? defaultDataFolder()
  const gateway = gatewayOnFolder(folder)
  const login = await gateway.json<{ openUrl: string }>({ method: 'POST', path: '/api/logins' })
  if (values.json) printJson(login)
  else if (values.print || !hasBrowser(process.env)) process.stdout.write(`${login.openUrl}\n`)
  else {
    // A signal would end the process without its exit handlers, and leave the file with the link.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
    const isUsed = await openBrowser(login.openUrl, folder, () => isLinkUsed(login.openUrl))
    if (!isUsed)
      throw new AskbackError(
        'unavailable',
        'No browser has signed in. Run askback open --print for the link.',
      )
  }
  return 0
}

/** Reads the page of the link, which says whether the link was used without using it. */
async function isLinkUsed(openUrl: string): Promise<boolean> {
  const call = { method: 'GET', url: new URL(openUrl), headers: {}, stallMs: 10_000 } as const
  // If the gateway does not answer, the next check may succeed.
  const page = await sendRequest(call).catch(() => null)
  return page?.status === 401
}

/** Whether a person sits at a screen of this machine, as far as the environment tells. */
export function hasBrowser(env: NodeJS.ProcessEnv, platform = process.platform): boolean {
  if (env['CI'] || env['SSH_CONNECTION']) return false
  return platform === 'darwin' || platform === 'win32' || Boolean(env['DISPLAY'] ?? env['WAYLAND_DISPLAY'])
}

/**
 * Opens a login link in the browser. Every process can read the arguments of every other, so the browser gets the address of a
 * file that redirects to the link. The file is in the data folder, which only its owner can read, and is removed before this
 * resolves. Resolves to false if the link was not used in time.
 */
export async function openBrowser(
  openUrl: string,
  dataFolder: string,
  isUsed: () => Promise<boolean>,
): Promise<boolean> {
  removeOldFiles(dataFolder)
  const file = join(dataFolder, `open-${randomUUID()}.html`)
  const remove = () => rmSync(file, { force: true })
  writeFileSync(file, redirectPage(openUrl), { mode: 0o600, flag: 'wx' })
  process.once('exit', remove)
  try {
    const child = await openInBrowser(pathToFileURL(file).href)
    child.on('error', () => undefined)
    return await waitUntil(isUsed)
  } catch {
    // This machine has no program that opens it.
    return false
  } finally {
    remove()
    process.off('exit', remove)
  }
}

async function waitUntil(isUsed: () => Promise<boolean>): Promise<boolean> {
  const until = Date.now() + BROWSER_TIMEOUT_MS
  while (Date.now() < until) {
    if (await isUsed()) return true
    await pause(CHECK_EVERY_MS)
  }
  return false
}

/** Removes files of processes that were killed. */
function removeOldFiles(dataFolder: string): void {
  for (const name of readdirSync(dataFolder).filter((each) => LINK_FILE.test(each))) {
    const path = join(dataFolder, name)
    const { mtimeMs = Date.now() } = statSync(path, { throwIfNoEntry: false }) ?? {}
    if (Date.now() - mtimeMs > MAX_FILE_AGE_MS) rmSync(path, { force: true })
  }
}

function redirectPage(url: string): string {
  const address = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=${address}"><title>Askback</title></head>
<body><p><a href="${address}">Continue to Askback</a></p></body></html>
`
}
