import type { GatewayConfig } from '@askback/gateway'
import { parseArgs } from 'node:util'
import { readConfig } from '../config.js'
import { openDataFolder } from '../data-folder.js'
import { parseTimeout } from '../duration.js'
import { usageError } from '../usage.js'
import { namesOf } from './addresses.js'
import { connectorSecrets, type ConnectorSecrets } from './connector-secrets.js'
import { networkOptions, type Tls } from './network.js'
import type { StoreAddress } from './shared-store.js'

const FLAGS = {
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '4100' },
  data: { type: 'string' },
  store: { type: 'string' },
  'store-listen': { type: 'string' },
  lease: { type: 'string' },
  config: { type: 'string' },
  'allow-host': { type: 'string', multiple: true },
  'allow-origin': { type: 'string', multiple: true },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'trust-proxy': { type: 'string', multiple: true },
  insecure: { type: 'boolean' },
  timeout: { type: 'string' },
  claude: { type: 'string' },
  'no-open': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const

export interface ServeOptions {
  host: string
  port: number
  dataFolder: string
  /** The database that gateways share, instead of a file in the data folder. */
  store: StoreAddress | null
  /** Of a request that says nothing itself; `undefined` leaves it to the desk. */
  timeoutMs: number | null | undefined
  open: boolean
  json: boolean
  config: GatewayConfig
  /** What the gateway identifies itself with, unless it speaks plain HTTP. */
  tls: Tls | null
  /** Whether others may come through a proxy only, as this gateway itself has no TLS. */
  requireProxy: boolean
  secrets: ConnectorSecrets
}

/** The flags and the settings file, checked once. */
export function serveOptions(args: string[]): ServeOptions {
  const { values } = parseArgs({ args, options: FLAGS })
  const port = Number(values.port)
  if (!/^\d{1,5}$/.test(values.port) || port > 65_535) {
    throw usageError(`--port is a number from 0 to 65535, not ${JSON.stringify(values.port)}.`)
  }
  const dataFolder = openDataFolder(values.data)
  const config = readConfig(dataFolder, {
    ...(values.config !== undefined && { file: values.config }),
    claude: values.claude ?? process.env['ASKBACK_CLAUDE'],
  })
  const network = networkOptions(values, config, process.env)
  return {
    host: values.host,
    port,
    tls: network.tls,
    requireProxy: network.requireProxy,
    dataFolder,
    store: storeOf(values),
    timeoutMs: timeoutOf(values.timeout, config.timeout),
    open: !values['no-open'] && !values.json,
    json: values.json,
    secrets: connectorSecrets(config, process.env),
    config: {
      ...config,
      trustProxy: network.trustProxy,
      allowedHosts: [...namesOf(values.host), ...config.allowedHosts, ...(values['allow-host'] ?? [])],
      allowedOrigins: [...config.allowedOrigins, ...(values['allow-origin'] ?? []).map(origin)],
    },
  }
}

/** The flag goes before the environment, and that before the settings file. */
function timeoutOf(flag: string | undefined, setting: string | undefined): number | null | undefined {
  if (flag !== undefined) return parseTimeout(flag)
  const variable = process.env['ASKBACK_TIMEOUT']
  if (variable) return parseTimeout(variable, 'ASKBACK_TIMEOUT')
  return setting === undefined ? undefined : parseTimeout(setting)
}

function storeOf(values: {
  store?: string | undefined
  'store-listen'?: string | undefined
  lease?: string | undefined
}): StoreAddress | null {
  const url = values.store ?? process.env['ASKBACK_STORE']
  const listenUrl = values['store-listen'] ?? process.env['ASKBACK_STORE_LISTEN']
  if (!url) {
    if (listenUrl ?? values.lease) throw usageError('--store-listen and --lease go with --store.')
    return null
  }
  const leaseMs = values.lease === undefined ? undefined : parseTimeout(values.lease)
  if (leaseMs === null) throw usageError('--lease is a time like 10s.')
  return { url, ...(listenUrl && { listenUrl }), ...(leaseMs !== undefined && { leaseMs }) }
}

function origin(text: string): string {
  if (URL.canParse(text)) return new URL(text).origin
  throw usageError(`--allow-origin is an origin like https://example.com, not ${JSON.stringify(text)}.`)
}
