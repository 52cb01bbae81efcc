import type { Routed } from '@askback/protocol'
import { parseArgs } from 'node:util'
import { asPerson } from './people/person.js'
import { WHERE } from './reach/connection.js'
import { usageError } from './usage.js'
import { printJson, say } from './output.js'

/** `askback send SESSION TEXT`: says something in a session, and tells who got it. */
export async function send(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...WHERE,
      route: { type: 'string' },
      interaction: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  })
  const [sessionId, text, ...more] = positionals
  if (!sessionId || text === undefined || more.length > 0) {
    throw usageError('Usage: askback send SESSION "TEXT".')
  }
  const { route, interaction: interactionId } = values
  const routed = await asPerson(values).json<Routed>({
    method: 'POST',
    path: `/api/sessions/${encodeURIComponent(sessionId)}/messages`,
    body: { text, ...(route && { route }), ...(interactionId && { interactionId }) },
  })
  if (values.json) printJson(routed)
  else say(told(routed))
  return 0
}

function told({ routed, interactionId }: Routed): string {
  switch (routed) {
    case 'agent':
      return 'Sent to the agent.'
    case 'interaction':
      return `Taken as the answer to ${interactionId}.`
    case 'log':
      return 'Saved as a note in the log. This session has no agent that reads it.'
  }
}
