import { join } from 'node:path'

/** The program of OpenCode. Its package for this platform has no command of its own. */
export const opencode = join(import.meta.dirname, '../node_modules/opencode-linux-x64/bin/opencode')
