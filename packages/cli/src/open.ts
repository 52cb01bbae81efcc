import { parseArgs } from 'node:util'
import { defaultDataFolder } from './data-folder.js'
import { callGateway } from './gateway-call.js'
import { hasBrowser, openBrowser } from './open-browser.js'

/** `askback open`: logs another browser in at the gateway that runs. */
export async function open(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { data: { type: 'string' }, print: { type: 'boolean' }, json: { type: 'boolean' } },
  })
  const folder = values.data ?? defaultDataFolder()
  const made = await callGateway<{ openUrl: string }>(folder, 'POST', '/api/logins')
  if (values.json) process.stdout.write(`${JSON.stringify(made)}\n`)
  else if (values.print || !hasBrowser(process.env)) process.stdout.write(`${made.openUrl}\n`)
  else await openBrowser(made.openUrl)
  return 0
}
