import { readlink } from 'node:fs/promises'

/** The target of a symbolic link; `null` if the path is no link or does not exist. Pass it to `createDesk` on Node.js. */
export async function readLink(path: string): Promise<string | null> {
  try {
    return await readlink(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // Windows reports UNKNOWN for a path that is no link.
    if (code === 'EINVAL' || code === 'ENOENT' || code === 'UNKNOWN') return null
    throw error
  }
}
