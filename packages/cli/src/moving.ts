import type { Store } from '@askback/core'
import { AskbackError, type Json, type SessionEvent, type AuditRow } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { TOKENS_KEY } from './serve/tokens.js'
import { defaultDataFolder, openDataFolder } from './data-folder.js'
import { tokensFile } from './private-file.js'

/** The version of the format: 2 added audit lines, 3 the acts among them. */
export const MARK = 3

/**
 * One line of an export: the first says what it is, then come the logs in commit order, between them the audit rows that
 * follow from no log, then the keys.
 */
export type Line =
  | { askback: number }
  | { sessionId: string; events: SessionEvent[] }
  | { audit: AuditRow }
  | { key: string; value: Json }

/** What a gateway has. */
export interface Opened {
  store: Store
  /** Where the tokens are, beside a store that is a file; in any other store they are a key. */
  tokens: string | null
}

/** The store that a gateway with these flags would use. It must not run on a file at the same time. */
export async function openStore(flags: {
  data?: string | undefined
  store?: string | undefined
}): Promise<Opened> {
  const url = flags.store ?? process.env['ASKBACK_STORE']
  if (url) {
    const { postgresStore } = await import('@askback/store-postgres')
    return { store: await postgresStore({ url }), tokens: null }
  }
  const folder = flags.data ?? defaultDataFolder()
  const path = join(folder, 'askback.db')
  if (flags.data !== undefined) openDataFolder(flags.data)
  if (!existsSync(path) && flags.data === undefined)
    throw new AskbackError('invalid_request', `There is no data in ${path}. Name its folder with --data.`)
  return { store: sqliteStore({ path }), tokens: tokensFile(folder) }
}

/** Tells an audit row from every other, so that importing a file twice adds it once. */
export function nameOf(row: AuditRow): string {
  if (!('act' in row)) return JSON.stringify([row.sessionId, row.interactionId])
  const { act, at, sessionId, subject, by } = row
  return JSON.stringify([act, at, sessionId, subject, by?.id])
}

/** Tokens and logins by their hashes, and the key that signs agents' tokens. Who has which name is no credential. */
export function isCredential(key: string): boolean {
  return key.startsWith('credential/') && !key.startsWith('credential/person/')
}

/** Keys that mean nothing anywhere else. */
export function isOfOneProcess(key: string): boolean {
  return ['gateway/', 'lease/', 'mail/'].some((prefix) => key.startsWith(prefix)) || key === TOKENS_KEY
}
