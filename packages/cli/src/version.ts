import { readFileSync } from 'node:fs'

export function version(): string {
  try {
    const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
      version: string
    }
    return manifest.version
  } catch {
    // A bundle lies elsewhere.
    return '0.0.0'
  }
}
