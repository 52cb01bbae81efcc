import type { Interaction, OpenBody } from '@askback/protocol'
import { parseTimeout } from '../duration.js'
import { WHERE, type Where } from '../reach/connection.js'
import { Gateway } from '../reach/gateway.js'
import { askPerson } from './ask-person.js'
import { printOutcome } from './outcome.js'
import { placeToAsk } from './session.js'
import { abortOnSignals } from './signals.js'
import { say } from '../output.js'

/** The flags of every command that asks. */
export const ASKING = {
  ...WHERE,
  session: { type: 'string' },
  timeout: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

export interface AskingFlags extends Where {
  session?: string | undefined
  timeout?: string | undefined
  json: boolean
}

/** Asks a person, and ends as they said. Ctrl-C cancels. */
export async function runAsking(body: OpenBody, flags: AskingFlags, what: string): Promise<number> {
  const timeoutMs = flags.timeout === undefined ? undefined : parseTimeout(flags.timeout)
  const { env } = process
  const signal = abortOnSignals()
  const gateway = new Gateway('agent', flags, { env, say })
  const place = await placeToAsk(gateway, flags.session, env)
  const item = await askPerson(timeoutMs === undefined ? body : { ...body, timeoutMs }, {
    gateway,
    place,
    env,
    signal,
    onPending: (pending) => sayPending(pending, gateway.url, what, flags),
  })
  return printOutcome(item, flags)
}

export function sayPending({ interactionId }: Interaction, url: string, what: string, where: Where): void {
  const asks = what === '' || /\p{P}$/u.test(what) ? what : `${what}.`
  // The command must reach the same gateway as this one did.
  const there = [
    ...(where.url === undefined ? [] : ['--url', where.url]),
    ...(where.data === undefined ? [] : ['--data', where.data]),
  ]
  const later = ['askback wait', interactionId, ...there].join(' ')
  say(`Waiting for a person: ${asks} Answer at ${url}, or wait for the answer later with: ${later}`)
}
