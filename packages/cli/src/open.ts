import { AskbackError } from '@askback/protocol/errors'
import { parseArgs } from 'node:util'
import { defaultDataFolder } from './data-folder.js'
import { callGateway } from './gateway-call.js'
import { exchange } from './reach/exchange.js'
import { hasBrowser, openBrowser } from './open-browser.js'
import { printJson } from './output.js'

/** `askback open`: logs another browser in at the gateway that runs. */
export async function open(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { data: { type: 'string' }, print: { type: 'boolean' }, json: { type: 'boolean' } },
  })
  const folder = values.data ?? defaultDataFolder()
  const made = await callGateway<{ openUrl: string }>(folder, 'POST', '/api/logins')
  if (values.json) printJson(made)
  else if (values.print || !hasBrowser(process.env)) process.stdout.write(`${made.openUrl}\n`)
  else {
    // Ended by a signal, a process leaves what it would have removed.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
    const isUsed = await openBrowser(made.openUrl, folder, () => isLinkUsed(made.openUrl))
    if (!isUsed)
      throw new AskbackError(
        'unavailable',
        'No browser has signed in. Run askback open --print for the link.',
      )
  }
  return 0
}

/** The page behind the link tells, without using the link up. */
async function isLinkUsed(openUrl: string): Promise<boolean> {
  const call = { method: 'GET', url: new URL(openUrl), headers: {}, stallMs: 10_000 } as const
  // A gateway that does not answer now may do so the next time.
  const page = await exchange(call).catch(() => null)
  return page?.status === 401
}
