import { existsSync } from 'node:fs'
import { errorMessage } from '@askback/protocol/errors'
import { hasOurHooks, ourCommands, readSettings, settingsFile } from '../install/claude-code.js'
import { webAppFolder } from '../serve/package-files.js'

/** One line of `askback doctor`. */
export interface DoctorCheck {
  name: string
  /** `false` if Askback cannot run like this; `null` if something optional is missing. */
  ok: boolean | null
  says: string
}

export const fine = (name: string, says: string): DoctorCheck => ({ name, ok: true, says })
export const missing = (name: string, says: string): DoctorCheck => ({ name, ok: null, says })
export const broken = (name: string, says: string): DoctorCheck => ({ name, ok: false, says })

const HOOKS = 'Claude Code hooks'

export function nodeCheck(): DoctorCheck {
  const { node } = process.versions
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isSupported = major > 20 || (major === 20 && minor >= 19)
  return isSupported ? fine('node', node) : broken('node', `${node} is too old: install 20.19 or newer`)
}

export function webAppCheck(): DoctorCheck {
  return webAppFolder() === undefined
    ? missing('web app', 'is not built: the gateway answers commands and programs, and shows no pages')
    : fine('web app', 'ready')
}

/** Variables that change which gateway and session commands use. */
export function variablesCheck(env: NodeJS.ProcessEnv): DoctorCheck[] {
  const set = ['ASKBACK_URL', 'ASKBACK_SESSION', 'ASKBACK_TOKEN', 'ASKBACK_AGENT_TOKEN'].filter(
    (name) => env[name],
  )
  if (set.length === 0) return []
  const asks = env['ASKBACK_SESSION'] ? `: commands ask in the session ${env['ASKBACK_SESSION']}` : ''
  return [fine('environment', `${set.join(', ')} set${asks}`)]
}

/** Whether a Claude Code that is started by hand asks through Askback. */
export function hooksCheck(env: NodeJS.ProcessEnv): DoctorCheck {
  for (const path of [settingsFile(true, env), settingsFile(false, env)]) {
    try {
      const { settings } = readSettings(path)
      if (!hasOurHooks(settings)) continue
      const missingCommand = ourCommands(settings).find((command) => !programExists(command))
      return missingCommand === undefined
        ? fine(HOOKS, `in ${path}`)
        : broken(HOOKS, `${path} names a program that is gone: run askback install claude-code again`)
    } catch (error) {
      return broken(HOOKS, errorMessage(error))
    }
  }
  return missing(
    HOOKS,
    'are not installed: askback install claude-code lets one that you start yourself ask here',
  )
}

/** Only absolute paths can be checked: a name is looked up in the PATH of the Claude Code that runs it. */
function programExists(command: string): boolean {
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
  return words.slice(0, words.indexOf('hook')).every((word) => !word.startsWith('/') || existsSync(word))
}
