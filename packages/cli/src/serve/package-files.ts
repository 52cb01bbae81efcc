import { isRecord } from '@askback/protocol/guards'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The version of this package; `0.0.0` in a bundle, which has no manifest beside it. */
export function version(): string {
  try {
    const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    if (isRecord(manifest) && typeof manifest['version'] === 'string') return manifest['version']
  } catch {
    // Falls through to the version of a bundle.
  }
  return '0.0.0'
}

/** The built web app: inside this package when it is installed, and in its own workspace in the repository. */
export function webAppFolder(): string | undefined {
  return ['../web', '../../../apps/web/dist']
    .map((path) => fileURLToPath(new URL(path, new URL('..', import.meta.url))))
    .find((folder) => existsSync(join(folder, 'index.html')))
}
