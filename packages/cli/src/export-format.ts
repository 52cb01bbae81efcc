import type { Store } from '@askback/core'
import { AskbackError, type Json, type SessionEvent, type AuditRow } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defaultDataFolder, openDataFolder, tokensFile } from './data-folder.js'
import { TOKENS_KEY } from './serve/tokens.js'

/** Version 2 added audit lines, version 3 the acts of people among them. */
export const EXPORT_VERSION = 3

/**
 * One line of an export. The first line has the version. Then come the events in commit order, between them those audit rows that
 * cannot be derived from the events, and at the end the keys.
 */
export type ExportLine =
  | { askback: number }
  | { sessionId: string; events: SessionEvent[] }
  | { audit: AuditRow }
  | { key: string; value: Json }

/** The data of a gateway. */
export interface GatewayData {
  store: Store
  /** The file with the tokens. `null` for a shared store, which has only their hashes. */
  tokensFile: string | null
}

/** Opens the store that a gateway with these flags would use. Fails if a gateway uses the file at the same time. */
export async function openGatewayData(flags: {
  data?: string | undefined
  store?: string | undefined
}): Promise<GatewayData> {
  const url = flags.store ?? process.env['ASKBACK_STORE']
  if (url) {
    const { postgresStore } = await import('@askback/store-postgres')
    return { store: await postgresStore({ url }), tokensFile: null }
  }
  const folder = flags.data ?? defaultDataFolder()
  const path = join(folder, 'askback.db')
  if (flags.data !== undefined) openDataFolder(flags.data)
  if (!existsSync(path) && flags.data === undefined)
    throw new AskbackError('invalid_request', `There is no data in ${path}. Name its folder with --data.`)
  return { store: sqliteStore({ path }), tokensFile: tokensFile(folder) }
}

/** Identifies an audit row, so that importing a file twice adds the row once. */
export function auditKey(row: AuditRow): string {
  if (!('act' in row)) return JSON.stringify([row.sessionId, row.interactionId])
  const { act, at, sessionId, subject, by } = row
  return JSON.stringify([act, at, sessionId, subject, by?.id])
}

/** Hashes of tokens and logins, and the key that signs the tokens of agents. The names of people are not credentials. */
export function isCredential(key: string): boolean {
  return key.startsWith('credential/') && !key.startsWith('credential/person/')
}

/** Keys that are only meaningful to the processes on this store, and are not exported. */
export function isProcessKey(key: string): boolean {
  return ['gateway/', 'lease/', 'mail/'].some((prefix) => key.startsWith(prefix)) || key === TOKENS_KEY
}
