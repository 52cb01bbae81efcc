import type { GatewayConfig } from '@askback/gateway'
import { AskbackError } from '@askback/protocol'
import { readFileSync, statSync } from 'node:fs'

export interface ConnectorSecrets {
  /** `null` without a bot. */
  telegramToken: string | null
  /** One for each webhook, in their order. */
  webhooks: string[]
}

/** From the environment, or from files that only their owner reads: never from the command line. */
export function connectorSecrets(
  { connectors: { telegram, webhooks } }: GatewayConfig,
  env: NodeJS.ProcessEnv,
): ConnectorSecrets {
  const telegramToken = telegram?.tokenFile
    ? secretIn(telegram.tokenFile)
    : env['ASKBACK_TELEGRAM_TOKEN'] || null
  if (telegram && telegramToken === null) {
    throw new AskbackError(
      'invalid_request',
      'The settings have a Telegram bot but no token: set ASKBACK_TELEGRAM_TOKEN, or connectors.telegram.tokenFile.',
    )
  }
  return {
    telegramToken,
    webhooks: webhooks.map(({ url, secretFile }) => {
      const secret = secretFile ? secretIn(secretFile) : env['ASKBACK_WEBHOOK_SECRET']
      if (secret) return secret
      throw new AskbackError(
        'invalid_request',
        `The webhook ${url} has no secret: set ASKBACK_WEBHOOK_SECRET, or its secretFile.`,
      )
    }),
  }
}

function secretIn(path: string): string {
  let text: string
  let mode: number
  try {
    text = readFileSync(path, 'utf8').trim()
    mode = statSync(path).mode
  } catch (error) {
    throw new AskbackError('invalid_request', `The secret in ${path} cannot be read.`, { cause: error })
  }
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    throw new AskbackError('invalid_request', `Others can read ${path}: chmod 600 it first.`)
  }
  if (text !== '') return text
  throw new AskbackError('invalid_request', `The file ${path} is empty.`)
}
