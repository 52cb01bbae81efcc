import type { Store } from '@askback/core'
import { AskbackError, type Json, type SessionEvent } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defaultDataFolder, openDataFolder } from './data-folder.js'

/** Of the format. */
export const MARK = 1

/** One line of an export: the first says what it is, then come the logs in commit order, then the keys. */
export type Line =
  | { askback: number }
  | { sessionId: string; events: SessionEvent[] }
  | { key: string; value: Json }

/** The store that a gateway with these flags would use. It must not run on a file at the same time. */
export async function openStore(flags: {
  data?: string | undefined
  store?: string | undefined
}): Promise<Store> {
  const url = flags.store ?? process.env['ASKBACK_STORE']
  if (url) {
    const { postgresStore } = await import('@askback/store-postgres')
    return postgresStore({ url })
  }
  const path = join(flags.data ?? defaultDataFolder(), 'askback.db')
  if (flags.data !== undefined) openDataFolder(flags.data)
  if (!existsSync(path) && flags.data === undefined)
    throw new AskbackError('invalid_request', `There is no data in ${path}. Name its folder with --data.`)
  return sqliteStore({ path })
}

/** Keys that mean nothing anywhere else. */
export function isOfOneProcess(key: string): boolean {
  return ['gateway/', 'lease/', 'mail/'].some((prefix) => key.startsWith(prefix))
}
