import { accessSync, constants, realpathSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { agreed } from './agreed.js'
import {
  hasOurs,
  hookGroups,
  readSettings,
  settingsFile,
  withHooks,
  withoutHooks,
  writeSettings,
} from './install/claude-code.js'
import { usageError } from './usage.js'
import { say } from './output.js'

const CANCELLED = 4
const FLAGS = {
  project: { type: 'boolean', default: false },
  data: { type: 'string' },
  url: { type: 'string' },
  yes: { type: 'boolean', short: 'y', default: false },
} as const

/** `askback install claude-code`: a Claude Code that is started by hand asks here, too. */
export async function install(args: string[]): Promise<number> {
  const { values } = parse(args, 'install')
  const path = settingsFile(values.project, process.env)
  const file = readSettings(path)
  const hooks = hookGroups(command(values))
  const changed = withHooks(file, hooks)
  if (changed === file.text) return done(`It is there already, in ${path}.`)
  say(`This goes into ${path}:\n\n${JSON.stringify({ hooks }, null, 2)}\n`)
  if (!values.yes && !(await mayWrite())) {
    say('Nothing was changed.')
    return CANCELLED
  }
  writeSettings(path, changed)
  return done('Done. Claude Code asks through Askback while a gateway runs, and by itself when none does.')
}

/** `askback uninstall claude-code`: removes just what `install` has added. */
export async function uninstall(args: string[]): Promise<number> {
  const { values } = parse(args, 'uninstall')
  const path = settingsFile(values.project, process.env)
  const file = readSettings(path)
  if (!hasOurs(file.settings)) return done(`There is nothing of Askback in ${path}.`)
  writeSettings(path, withoutHooks(file))
  return done(`Removed from ${path}.`)
}

function parse(args: string[], name: string) {
  const parsed = parseArgs({ args, allowPositionals: true, options: FLAGS })
  if (parsed.positionals.join(' ') === 'claude-code') return parsed
  throw usageError(`Usage: askback ${name} claude-code.`)
}

/** By its name if that leads here, else by its path: Claude Code may be started where it is not found. */
function command({ data, url }: { data?: string | undefined; url?: string | undefined }): string {
  const self = realpathSync(process.argv[1] ?? '')
  const program = onPath('askback') === self ? 'askback' : `${quoted(process.execPath)} ${quoted(self)}`
  const flags = [
    ...(data === undefined ? [] : ['--data', quoted(resolve(data))]),
    ...(url === undefined ? [] : ['--url', quoted(url)]),
  ]
  return [program, 'hook claude-code', ...flags].join(' ')
}

function onPath(name: string): string | null {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    try {
      const path = join(folder, name)
      accessSync(path, constants.X_OK)
      return realpathSync(path)
    } catch {
      // Not there.
    }
  }
  return null
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

async function mayWrite(): Promise<boolean> {
  if (!process.stdin.isTTY) throw usageError('Nobody is here to agree: add --yes to write it.')
  return agreed('Write it?')
}

function done(text: string): number {
  say(text)
  return 0
}
