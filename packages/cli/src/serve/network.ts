import type { GatewayConfig } from '@askback/gateway'
import { AskbackError, errorMessage } from '@askback/protocol'
import { readFileSync, statSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { createSecureContext } from 'node:tls'
import { usageError } from '../arguments.js'

/** A certificate and its key, in PEM. */
export interface Tls {
  cert: string
  key: string
}

interface NetworkFlags {
  host: string
  'tls-cert'?: string | undefined
  'tls-key'?: string | undefined
  'trust-proxy'?: string[] | undefined
  insecure?: boolean | undefined
}

export interface NetworkOptions {
  tls: Tls | null
  /** Addresses of proxies whose forwarding headers are trusted. */
  trustProxy: string[]
  /** Whether only these proxies may connect, since the gateway itself has no TLS. */
  requireProxy: boolean
}

/** Flags override the environment, which overrides the settings file. */
export function networkOptions(
  flags: NetworkFlags,
  config: GatewayConfig,
  env: NodeJS.ProcessEnv,
): NetworkOptions {
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
  const tls = { cert: readText(certFile), key: readText(keyFile) }
  try {
    createSecureContext(tls)
  } catch (error) {
    const why = errorMessage(error)
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

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new AskbackError('invalid_request', `The file ${path} cannot be read.`, { cause: error })
  }
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** The names that a `Host` header may have for a gateway that listens there. */
export function hostNamesOf(host: string): string[] {
  if (host !== '0.0.0.0' && host !== '::') return [bracketed(host)]
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return own.map(({ address }) => bracketed(address))
}

function bracketed(address: string): string {
  return isIPv6(address) ? `[${address}]` : address
}
