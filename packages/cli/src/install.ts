import { accessSync, constants, realpathSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { usageError } from './arguments.js'
import {
  hasOurHooks,
  hookGroups,
  readSettings,
  settingsFile,
  withHooks,
  withoutHooks,
  writeSettings,
} from './install/claude-code.js'
import { confirm, say } from './terminal.js'

const EXIT_CANCELLED = 4
/** Of `askback install` and `askback uninstall`. */
export const INSTALL_FLAGS = {
  project: { type: 'boolean', default: false },
  data: { type: 'string' },
  url: { type: 'string' },
  yes: { type: 'boolean', short: 'y', default: false },
} as const

/** `askback install claude-code`: adds hooks, so that a Claude Code that is started by hand asks through Askback. */
export async function install(args: string[]): Promise<number> {
  const { values } = parse(args, 'install')
  const path = settingsFile(values.project, process.env)
  const file = readSettings(path)
  const hooks = hookGroups(hookCommand(values))
  const changed = withHooks(file, hooks)
  if (changed === file.text) return done(`It is there already, in ${path}.`)
  say(`This goes into ${path}:\n\n${JSON.stringify({ hooks }, null, 2)}\n`)
  if (!values.yes && !(await confirmWrite())) {
    say('Nothing was changed.')
    return EXIT_CANCELLED
  }
  writeSettings(path, changed)
  return done('Done. Claude Code asks through Askback while a gateway runs, and by itself when none does.')
}

/** `askback uninstall claude-code`: removes exactly what `install` has added. */
export async function uninstall(args: string[]): Promise<number> {
  const { values } = parse(args, 'uninstall')
  const path = settingsFile(values.project, process.env)
  const file = readSettings(path)
  if (!hasOurHooks(file.settings)) return done(`There is nothing of Askback in ${path}.`)
  writeSettings(path, withoutHooks(file))
  return done(`Removed from ${path}.`)
}

function parse(args: string[], name: string) {
  const parsed = parseArgs({ args, allowPositionals: true, options: INSTALL_FLAGS })
  if (parsed.positionals.join(' ') === 'claude-code') return parsed
  throw usageError(`Usage: askback ${name} claude-code.`)
}

/** The command for the settings: by name if the PATH leads to this program, else by its absolute path. */
function hookCommand({ data, url }: { data?: string | undefined; url?: string | undefined }): string {
  const self = realpathSync(process.argv[1] ?? '')
  const program =
    findOnPath('askback') === self ? 'askback' : `${shellQuoted(process.execPath)} ${shellQuoted(self)}`
  const flags = [
    ...(data === undefined ? [] : ['--data', shellQuoted(resolve(data))]),
    ...(url === undefined ? [] : ['--url', shellQuoted(url)]),
  ]
  return [program, 'hook claude-code', ...flags].join(' ')
}

function findOnPath(name: string): string | null {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    try {
      const path = join(folder, name)
      accessSync(path, constants.X_OK)
      return realpathSync(path)
    } catch {
      // Tries the next folder.
    }
  }
  return null
}

function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

async function confirmWrite(): Promise<boolean> {
  if (!process.stdin.isTTY) throw usageError('Nobody is here to agree: add --yes to write it.')
  return confirm('Write it?')
}

function done(text: string): number {
  say(text)
  return 0
}
