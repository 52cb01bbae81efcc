import { chmod, chown, copyFile, link, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { folderOf } from './folders.js'

/** What is needed to run Claude Code as a user who is not root. */
export interface OtherUser {
  /** The program to run; undefined if the tests do not run as root. */
  executable?: string
  home: string
  cwd: string
}

const NOBODY = 65_534

export async function otherUser(): Promise<OtherUser> {
  const home = await folderOf('home')
  const cwd = await folderOf('work')
  if (process.getuid?.() !== 0) return { home, cwd }
  if (spawnSync('setpriv', ['--version']).status !== 0)
    throw new Error('Tests as another user need the command setpriv, which util-linux brings.')
  const folder = await folderOf('program')
  const program = join(folder, 'claude')
  const original = bundledProgram()
  // The other user may have no access to the folder of the original.
  await link(original, program).catch(() => copyFile(original, program))
  const executable = join(folder, 'as-nobody')
  await writeFile(
    executable,
    `#!/bin/sh\nexec setpriv --reuid ${NOBODY} --regid ${NOBODY} --clear-groups ${program} "$@"\n`,
  )
  await chmod(executable, 0o755)
  await chmod(folder, 0o755)
  await Promise.all([home, cwd].map((path) => chown(path, NOBODY, NOBODY)))
  return { executable, home, cwd }
}

function bundledProgram(): string {
  const name = `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}`
  return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'claude')
}
