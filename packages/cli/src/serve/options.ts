import type { InteractionKind } from '@askback/core'
import type { GatewayConfig } from '@askback/gateway'
import { parseArgs } from 'node:util'
import { parseTimeout, usageError } from '../arguments.js'
import { unusedConfigFile } from '../config-file.js'
import { readConfig } from '../config.js'
import { openDataFolder } from '../data-folder.js'
import { connectorSecrets, type ConnectorSecrets } from './connectors.js'
import { hostNamesOf, networkOptions, type Tls } from './network.js'

export const SERVE_FLAGS = {
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

/** A database that several gateways share. */
export interface StoreAddress {
  url: string
  /** The address for the connection that listens, if `url` leads through a pooling proxy. */
  listenUrl?: string
  leaseMs?: number
}

export interface ServeOptions {
  host: string
  port: number
  dataFolder: string
  /** `null` if the data is in a file in the data folder. */
  store: StoreAddress | null
  /** The timeout of requests that do not set one, or `null` for none. `undefined` means the default of the desk. */
  timeoutMs: number | null | undefined
  open: boolean
  json: boolean
  config: GatewayConfig
  /** The operator's own kinds. */
  kinds: InteractionKind[]
  /** The ES modules that draw these kinds in the web app: their absolute paths by kind. */
  renderers: Record<string, string>
  /** A settings file in the working directory that is not used; `null` if there is none. */
  unusedConfig: string | null
  /** `null` for plain HTTP. */
  tls: Tls | null
  /** Whether only trusted proxies may connect, since the gateway itself has no TLS. */
  requireProxy: boolean
  secrets: ConnectorSecrets
}

/** Reads and checks the flags, the environment and the settings file. */
export async function readServeOptions(args: string[]): Promise<ServeOptions> {
  const { values } = parseArgs({ args, options: SERVE_FLAGS })
  const port = Number(values.port)
  if (!/^\d{1,5}$/.test(values.port) || port > 65_535) {
    throw usageError(`--port is a number from 0 to 65535, not ${JSON.stringify(values.port)}.`)
  }
  const dataFolder = openDataFolder(values.data)
  const {
    file,
    gateway: config,
    kinds,
    renderers,
  } = await readConfig(dataFolder, {
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
    store: storeAddress(values),
    timeoutMs: timeoutOf(values.timeout, config.timeout),
    open: !values['no-open'] && !values.json,
    json: values.json,
    secrets: connectorSecrets(config, process.env),
    kinds,
    renderers,
    unusedConfig: unusedConfigFile(process.cwd(), file),
    config: {
      ...config,
      trustProxy: network.trustProxy,
      allowedHosts: [...hostNamesOf(values.host), ...config.allowedHosts, ...(values['allow-host'] ?? [])],
      allowedOrigins: [...config.allowedOrigins, ...(values['allow-origin'] ?? []).map(parseOrigin)],
    },
  }
}

/** The flag overrides the environment, which overrides the settings file. */
function timeoutOf(flag: string | undefined, setting: string | undefined): number | null | undefined {
  if (flag !== undefined) return parseTimeout(flag)
  const variable = process.env['ASKBACK_TIMEOUT']
  if (variable) return parseTimeout(variable, 'ASKBACK_TIMEOUT')
  return setting === undefined ? undefined : parseTimeout(setting)
}

function storeAddress(values: {
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

function parseOrigin(text: string): string {
  if (URL.canParse(text)) return new URL(text).origin
  throw usageError(`--allow-origin is an origin like https://example.com, not ${JSON.stringify(text)}.`)
}
