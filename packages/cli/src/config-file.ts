import { AskbackError, errorMessage } from '@askback/protocol'
import { Console } from 'node:console'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import * as configEntry from './define-config.js'

/** The names of a settings file, of which a folder may have one. `config.json` is only looked for in the data folder. */
export const CONFIG_NAMES = ['ts', 'mts', 'js', 'mjs', 'json'].map((ending) => `askback.config.${ending}`)

/**
 * The settings file: the one that was named, or the one in the data folder; `null` if there is none. Files in the working directory are
 * not used without being named, because that folder may belong to a project whose code nobody meant to run.
 */
export function findConfigFile(dataFolder: string, named: string | undefined): string | null {
  if (named !== undefined) return resolve(named)
  const found = [...CONFIG_NAMES, 'config.json'].filter((name) => existsSync(join(dataFolder, name)))
  const [first, second] = found
  if (second !== undefined)
    throw new AskbackError(
      'invalid_request',
      `The data folder ${dataFolder} has two settings files, ${first} and ${second}. Remove one of them.`,
    )
  return first === undefined ? null : join(dataFolder, first)
}

/** A settings file in the working directory that is not used, so that its author learns how to use it. */
export function unusedConfigFile(folder: string, used: string | null): string | null {
  const found = CONFIG_NAMES.find((name) => existsSync(join(folder, name)))
  return found === undefined || join(folder, found) === used ? null : found
}

/** What a settings file contains. Throws one sentence with the file if it cannot be read, throws, or exports nothing. */
export async function loadConfigFile(path: string): Promise<unknown> {
  checkIsFile(path)
  return path.endsWith('.json') ? readJson(path) : importDefault(path)
}

/** Importing a folder would run its `index.ts`, which nobody named. */
function checkIsFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isFile()) return
  throw unreadable(path, new Error(found ? 'it is not a file' : 'there is no such file'))
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw unreadable(path, error)
  }
}

/**
 * Runs a program of the operator. jiti removes types on every version of Node.js, and passes it the `askback/config` of this command, so
 * that both share one class of errors. No cache: a changed file must be read again, and nothing is written beside it.
 */
async function importDefault(path: string): Promise<unknown> {
  let loaded: { default?: unknown }
  // Programs read what commands print on stdout, so what the file and its kinds print, also later, goes to stderr.
  globalThis.console = new Console(process.stderr)
  try {
    const { createJiti } = await import('jiti')
    const jiti = createJiti(path, {
      fsCache: false,
      moduleCache: false,
      interopDefault: false,
      virtualModules: { 'askback/config': configEntry },
    })
    loaded = await jiti.import<{ default?: unknown }>(path)
  } catch (error) {
    throw unreadable(path, error)
  }
  if (loaded.default !== undefined) return loaded.default
  throw new AskbackError(
    'invalid_request',
    `The settings ${path} export nothing as their default. Write: export default defineConfig({ … })`,
  )
}

function unreadable(path: string, error: unknown): AskbackError {
  // The stack of a syntax error or of a missing module is many lines; the first says what is wrong.
  const [why = ''] = errorMessage(error).split('\n', 1)
  const end = /[.!?]$/u.test(why) ? '' : '.'
  return new AskbackError('invalid_request', `The settings ${path} cannot be read: ${why}${end}`, {
    cause: error,
  })
}
