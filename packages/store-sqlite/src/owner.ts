import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * The operating system's lock dies with its process; this file beside the database only says who holds it, for the error
 * that a second process gets.
 */
export function signOwner(path: string): void {
  const owner = { pid: process.pid, host: hostname(), since: new Date().toISOString() }
  try {
    writeFileSync(ownerFile(path), JSON.stringify(owner), { mode: 0o600 })
  } catch {
    // Not worth failing for: the lock holds without it.
  }
}

export function unsignOwner(path: string): void {
  rmSync(ownerFile(path), { force: true })
}

export function describeOwner(path: string): string {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(ownerFile(path), 'utf8')) as Record<string, unknown>
    if (typeof pid !== 'number' || (host === hostname() && !isRunning(pid)))
      return 'another process: stop that first'
    if (pid === process.pid && host === hostname()) return 'this process already'
    return `process ${pid} on ${String(host)} since ${String(since)}: stop that first`
  } catch {
    return 'another process: stop that first'
  }
}

function ownerFile(path: string): string {
  return `${path}-owner`
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
