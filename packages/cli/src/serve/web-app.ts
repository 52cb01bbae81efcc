import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The build of the web app: beside this package when installed, in its own place in the repository. */
export function webAppFolder(): string | undefined {
  return ['../web', '../../../apps/web/dist']
    .map((path) => fileURLToPath(new URL(path, new URL('..', import.meta.url))))
    .find((folder) => existsSync(join(folder, 'index.html')))
}
