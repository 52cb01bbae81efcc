import { readlink } from 'node:fs/promises'

/** Where a link leads; `null` for what is none, or is not there. */
export async function readLink(path: string): Promise<string | null> {
  try {
    return await readlink(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // Windows answers UNKNOWN for what is no link.
    if (code === 'EINVAL' || code === 'ENOENT' || code === 'UNKNOWN') return null
    throw error
  }
}
