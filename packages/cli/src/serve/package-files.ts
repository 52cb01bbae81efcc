import { isRecord } from '@askback/protocol/guards'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// This module is in `bundle` of an installed package, and in `dist/serve` of the repository.

/** The version of this package; `0.0.0` in a bundle that has no manifest beside it. */
export function version(): string {
  const file = firstExisting(['../package.json', '../../package.json'])
  const manifest: unknown = file === undefined ? null : JSON.parse(readFileSync(file, 'utf8'))
  return isRecord(manifest) && typeof manifest['version'] === 'string' ? manifest['version'] : '0.0.0'
}

/** The built web app: beside the bundle when the package is installed, and in its own workspace in the repository. */
export function webAppFolder(): string | undefined {
  const page = firstExisting(['../web/index.html', '../../../../apps/web/dist/index.html'])
  return page === undefined ? undefined : join(page, '..')
}

/** The first of these files, relative to this module, that exists. */
function firstExisting(paths: string[]): string | undefined {
  return paths.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path))
}
