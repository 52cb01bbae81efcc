import { AskbackError } from '@askback/protocol/errors'
import { parseArgs } from 'node:util'
import { WHERE } from './reach/connection.js'
import { Gateway } from './reach/gateway.js'
import { usageError } from './usage.js'
import { printJson, say } from './output.js'

interface Pairing {
  code: string
  expiresAt: number
  link?: string
}

/** `askback telegram pair`: a code with which the person who runs this can answer in Telegram. */
export async function telegram(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { ...WHERE, json: { type: 'boolean', default: false } },
  })
  if (positionals.length !== 1 || positionals[0] !== 'pair') throw usageError('Usage: askback telegram pair.')
  const gateway = new Gateway('person', values, { env: process.env })
  const pairing = await gateway
    .json<Pairing>({ method: 'POST', path: '/api/connectors/telegram/pairings' })
    .catch((error: unknown) => {
      throw error instanceof AskbackError && error.code === 'not_found' ? noBot() : error
    })
  const { code, link } = pairing
  if (values.json) printJson(pairing)
  else {
    process.stdout.write(`${code}\n`)
    const where = link ? `Open ${link}, or send` : 'Send'
    say(`${where} /pair ${code} to the bot. It works once, for ten minutes.`)
  }
  return 0
}

function noBot(): AskbackError {
  return new AskbackError(
    'not_found',
    'This gateway has no Telegram bot. Start it with ASKBACK_TELEGRAM_TOKEN set to the token of one from @BotFather.',
  )
}
