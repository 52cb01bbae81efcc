import { connectorDesk, runConnector } from '@askback/connectors'
import { jumpAwareClock, type Host, type Store } from '@askback/core'
import type { Credentials, GatewayConfig, GatewayConnector } from '@askback/gateway'
import { AskbackError } from '@askback/protocol'
import { readFileSync, statSync } from 'node:fs'

export interface Connectors {
  /** Connectors that have routes in the gateway, such as for pairing. */
  list: GatewayConnector[]
  start(): void
  stop(): Promise<void>
}

interface ConnectorsOptions {
  config: GatewayConfig
  secrets: ConnectorSecrets
  host: Host
  store: Store
  credentials: Credentials
  onError: (error: unknown) => void
}

/** Makes the connectors of the settings. Each is loaded only if it is used. */
export async function createConnectors(options: ConnectorsOptions): Promise<Connectors> {
  const all = await Promise.all([createTelegram(options), createWebhooks(options)])
  const running: { stop(): Promise<void> }[] = []
  return {
    list: all.flatMap(({ list }) => list),
    start: () => running.push(...all.flatMap((each) => each.start())),
    async stop() {
      await Promise.all(running.map((each) => each.stop()))
    },
  }
}

interface StartableConnectors {
  list: GatewayConnector[]
  start(): { stop(): Promise<void> }[]
}

const NONE: StartableConnectors = { list: [], start: () => [] }

async function createTelegram(options: ConnectorsOptions): Promise<StartableConnectors> {
  const { config, secrets, host, store, credentials, onError } = options
  const { telegramToken: token } = secrets
  if (token === null) return NONE
  const { telegramConnector } = await import('@askback/connectors/telegram')
  const { users = [], chats = [], webhookUrl, apiRoot } = config.connectors.telegram ?? {}
  const connector = telegramConnector({
    token,
    kv: store.kv,
    users: users.map(({ id, name }) => ({ id, ...(name !== undefined && { name }) })),
    chats,
    clock: host.desk.clock,
    mayAct: (personId) => credentials.mayAct(personId),
    onError,
    ...(webhookUrl !== undefined && { webhookUrl }),
    ...(apiRoot !== undefined && { apiRoot }),
  })
  credentials.onPersonRevoked((personId) => {
    connector.removePerson(personId).catch(onError)
  })
  return {
    list: [
      {
        id: connector.id,
        name: 'Telegram',
        pair: (by) => connector.pair(by),
        receive: (headers, body) => connector.receive(headers, body),
      },
    ],
    start: () => [
      runConnector({ connector, desk: connectorDesk(host, store, { sessions: 'all' }), onError }),
    ],
  }
}

async function createWebhooks({
  config,
  secrets,
  host,
  store,
  onError,
}: ConnectorsOptions): Promise<StartableConnectors> {
  const targets = config.connectors.webhooks
  if (targets.length === 0) return NONE
  const { startWebhook } = await import('@askback/connectors/webhook')
  const desk = connectorDesk(host, store, { sessions: 'all' })
  return {
    list: [],
    start: () =>
      targets.map(({ url }, index) => {
        const secret = secrets.webhooks[index]!
        return startWebhook({ url, secret, desk, clock: store.clock ?? jumpAwareClock, onError })
      }),
  }
}

export interface ConnectorSecrets {
  /** `null` if there is no bot. */
  telegramToken: string | null
  /** One secret for each webhook, in the order of the settings. */
  webhooks: string[]
}

/** Reads secrets from the environment, or from files that only their owner can read. Other users can read command lines. */
export function connectorSecrets(
  { connectors: { telegram, webhooks } }: GatewayConfig,
  env: NodeJS.ProcessEnv,
): ConnectorSecrets {
  const telegramToken = telegram?.tokenFile
    ? readSecretFile(telegram.tokenFile)
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
      const secret = secretFile ? readSecretFile(secretFile) : env['ASKBACK_WEBHOOK_SECRET']
      if (secret) return secret
      throw new AskbackError(
        'invalid_request',
        `The webhook ${url} has no secret: set ASKBACK_WEBHOOK_SECRET, or its secretFile.`,
      )
    }),
  }
}

function readSecretFile(path: string): string {
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
