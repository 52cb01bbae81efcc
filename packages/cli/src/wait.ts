import { AskbackError } from '@askback/protocol/errors'
import type { Interaction } from '@askback/protocol'
import { parseArgs } from 'node:util'
import { settlementOf } from './asking/ask-person.js'
import { sayPending } from './asking/command.js'
import { printOutcome } from './asking/outcome.js'
import { abortOnSignals } from './asking/signals.js'
import { say } from './output.js'
import { WHERE, type Where } from './reach/connection.js'
import { Gateway } from './reach/gateway.js'
import { usageError } from './usage.js'

/** `askback wait ID`: takes up what another process has asked. */
export async function wait(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { ...WHERE, json: { type: 'boolean', default: false } },
  })
  const [interactionId, ...more] = positionals
  if (!interactionId || more.length > 0) throw usageError('Usage: askback wait ID.')
  const signal = abortOnSignals()
  const { found, gateway, looksOn } = await find(interactionId, values)
  if (found.status === 'pending') sayPending(found, gateway.url, '', values)
  const item = await settlementOf(found, { gateway, signal, looksOn })
  return printOutcome(item, { json: values.json, looksOn })
}

/** As the one who asked, else as a person who looks on. */
async function find(interactionId: string, where: Where) {
  try {
    return await findAs('agent', interactionId, where)
  } catch (error) {
    if (!(error instanceof AskbackError) || error.code !== 'forbidden') throw error
    // What kept the asker out is what to tell of if no person is here either.
    return findAs('person', interactionId, where).catch(() => Promise.reject(error))
  }
}

async function findAs(role: 'agent' | 'person', interactionId: string, where: Where) {
  const gateway = new Gateway(role, where, { env: process.env, say })
  const { interaction: found, yours } = await gateway.json<{ interaction: Interaction; yours: boolean }>({
    method: 'GET',
    path: `/api/interactions/${encodeURIComponent(interactionId)}`,
  })
  return { found, gateway, looksOn: !yours }
}
