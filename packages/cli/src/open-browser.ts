import { randomUUID } from 'node:crypto'
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import openInBrowser from 'open'

const FILE = /^open-[0-9a-f-]+\.html$/
/** How long a browser may take to start before the file is removed. */
const PATIENCE_MS = 30_000
const LOOK_EVERY_MS = 300
/** As long as a code is good. */
const OLDEST_MS = 10 * 60_000

/** Whether there is a person at a screen who would see it. */
export function hasBrowser(env: NodeJS.ProcessEnv, platform = process.platform): boolean {
  if (env['CI'] || env['SSH_CONNECTION']) return false
  return platform === 'darwin' || platform === 'win32' || Boolean(env['DISPLAY'] ?? env['WAYLAND_DISPLAY'])
}

/**
 * Shows a login link in the browser. Every process can read the arguments of every other, so the browser is given a
 * file that leads to the link, in the data folder, which only its owner may read. Resolves once the link has been used
 * or was given up, with the file removed; `false` if nobody has used it.
 */
export async function openBrowser(
  openUrl: string,
  dataFolder: string,
  isUsed: () => Promise<boolean>,
): Promise<boolean> {
  removeOld(dataFolder)
  const file = join(dataFolder, `open-${randomUUID()}.html`)
  const remove = () => rmSync(file, { force: true })
  writeFileSync(file, redirectTo(openUrl), { mode: 0o600, flag: 'wx' })
  process.once('exit', remove)
  try {
    const child = await openInBrowser(pathToFileURL(file).href)
    child.on('error', () => undefined)
    return await becomesUsed(isUsed)
  } catch {
    // Nothing to open it with.
    return false
  } finally {
    remove()
    process.off('exit', remove)
  }
}

async function becomesUsed(isUsed: () => Promise<boolean>): Promise<boolean> {
  const until = Date.now() + PATIENCE_MS
  while (Date.now() < until) {
    if (await isUsed()) return true
    await pause(LOOK_EVERY_MS)
  }
  return false
}

/** Of a process that was killed. */
function removeOld(dataFolder: string): void {
  for (const name of readdirSync(dataFolder).filter((each) => FILE.test(each))) {
    const path = join(dataFolder, name)
    const { mtimeMs = Date.now() } = statSync(path, { throwIfNoEntry: false }) ?? {}
    if (Date.now() - mtimeMs > OLDEST_MS) rmSync(path, { force: true })
  }
}

function redirectTo(url: string): string {
  const address = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=${address}"><title>Askback</title></head>
<body><p><a href="${address}">Continue to Askback</a></p></body></html>
`
}
