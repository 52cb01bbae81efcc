import type { GatewayConfig } from '@askback/gateway'
import { AskbackError } from '@askback/protocol'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { usageError } from '../usage.js'
import { isLoopback } from './addresses.js'

/** In PEM. */
export interface Tls {
  cert: string
  key: string
}

interface Flags {
  host: string
  'tls-cert'?: string | undefined
  'tls-key'?: string | undefined
  'trust-proxy'?: string[] | undefined
  insecure?: boolean | undefined
}

export interface NetworkOptions {
  tls: Tls | null
  trustProxy: string[]
  requireProxy: boolean
}

/** Flags go before the environment, and that before the settings file. */
export function networkOptions(flags: Flags, config: GatewayConfig, env: NodeJS.ProcessEnv): NetworkOptions {
  const cert = flags['tls-cert'] ?? (env['ASKBACK_TLS_CERT'] || config.tls?.cert)
  const key = flags['tls-key'] ?? (env['ASKBACK_TLS_KEY'] || config.tls?.key)
  if ((cert === undefined) !== (key === undefined)) throw usageError('--tls-cert and --tls-key go together.')
  const fromEnv = (env['ASKBACK_TRUST_PROXY'] ?? '').split(',').flatMap((each) => each.trim() || [])
  const trustProxy = flags['trust-proxy'] ?? (fromEnv.length > 0 ? fromEnv : config.trustProxy)
  const isExposed = !isLoopback(flags.host) && cert === undefined && !(flags.insecure ?? config.insecure)
  if (isExposed && trustProxy.length === 0) {
    throw usageError(
      `Without TLS anyone on the way to ${flags.host} can read tokens and answers: give --tls-cert and --tls-key, name the proxy that ends TLS with --trust-proxy ADDRESS, or serve plain HTTP all the same with --insecure.`,
    )
  }
  const tls = cert === undefined || key === undefined ? null : readTls(cert, key)
  return { tls, trustProxy, requireProxy: isExposed }
}

function readTls(certFile: string, keyFile: string): Tls {
  const tls = { cert: read(certFile), key: read(keyFile) }
  try {
    createSecureContext(tls)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new AskbackError('invalid_request', `The certificate and the key cannot be used: ${why}.`)
  }
  if (process.platform !== 'win32' && (statSync(keyFile).mode & 0o007) !== 0) {
    throw new AskbackError(
      'invalid_request',
      `Everybody on this machine can use ${keyFile}: chmod 600 it first.`,
    )
  }
  return tls
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new AskbackError('invalid_request', `The file ${path} cannot be read.`, { cause: error })
  }
}
