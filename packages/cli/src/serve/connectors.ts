import { connectorDesk, runConnector } from '@askback/connectors'
import { systemClock, type Host, type Store } from '@askback/core'
import type { Credentials, GatewayConfig, GatewayConnector } from '@askback/gateway'
import type { ConnectorSecrets } from './connector-secrets.js'

export interface Connectors {
  /** Those that are reached through the gateway. */
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

/** What the settings name; each is loaded only if it is used. */
export async function connectorsFor(options: ConnectorsOptions): Promise<Connectors> {
  const all = await Promise.all([telegram(options), webhooks(options)])
  const running: { stop(): Promise<void> }[] = []
  return {
    list: all.flatMap(({ list }) => list),
    start: () => running.push(...all.flatMap((each) => each.start())),
    async stop() {
      await Promise.all(running.map((each) => each.stop()))
    },
  }
}

interface Startable {
  list: GatewayConnector[]
  start(): { stop(): Promise<void> }[]
}

const nothing: Startable = { list: [], start: () => [] }

async function telegram(options: ConnectorsOptions): Promise<Startable> {
  const { config, secrets, host, store, credentials, onError } = options
  const { telegramToken: token } = secrets
  if (token === null) return nothing
  const { telegramConnector } = await import('@askback/connectors/telegram')
  const { users = [], chats = [], webhookUrl, apiRoot } = config.connectors.telegram ?? {}
  const connector = telegramConnector({
    token,
    kv: store.kv,
    users: users.map(({ id, name }) => ({ id, ...(name !== undefined && { name }) })),
    chats,
    clock: host.desk.clock,
    isKnown: (personId) => credentials.mayAct(personId),
    onError,
    ...(webhookUrl !== undefined && { webhookUrl }),
    ...(apiRoot !== undefined && { apiRoot }),
  })
  credentials.onPersonRevoked((personId) => {
    connector.forget(personId).catch(onError)
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
    start: () => [runConnector({ connector, desk: connectorDesk(host, store), onError })],
  }
}

async function webhooks({ config, secrets, host, store, onError }: ConnectorsOptions): Promise<Startable> {
  const targets = config.connectors.webhooks
  if (targets.length === 0) return nothing
  const { startWebhook } = await import('@askback/connectors/webhook')
  const desk = connectorDesk(host, store)
  return {
    list: [],
    start: () =>
      targets.map(({ url }, index) => {
        const secret = secrets.webhooks[index]!
        return startWebhook({ url, secret, desk, clock: store.clock ?? systemClock, onError })
      }),
  }
}
