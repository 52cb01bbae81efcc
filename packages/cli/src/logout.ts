import { parseArgs } from 'node:util'
import { defaultDataFolder } from './data-folder.js'
import { callGateway } from './gateway-call.js'
import { usageError } from './usage.js'
import { printJson } from './output.js'

/** `askback logout [NAME]`: signs every browser of a person out, at the gateway that runs. */
export async function logout(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { data: { type: 'string' }, json: { type: 'boolean' } },
  })
  const [person, ...more] = positionals
  if (more.length > 0) throw usageError('Usage: askback logout [NAME].')
  const body = { all: true, ...(person !== undefined && { person }) }
  await callGateway(values.data ?? defaultDataFolder(), 'POST', '/api/logout', body)
  if (values.json) printJson({ ok: true })
  else process.stdout.write('All browsers are signed out. Run askback open to sign in again.\n')
  return 0
}
