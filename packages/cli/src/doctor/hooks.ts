import { existsSync } from 'node:fs'
import { hasOurs, ourCommands, readSettings, settingsFile } from '../install/claude-code.js'
import { broken, fine, messageOf, missing, type Check } from './check.js'

const NAME = 'Claude Code hooks'

/** Whether a Claude Code that is started by hand asks here. */
export function hooksCheck(env: NodeJS.ProcessEnv): Check {
  for (const path of [settingsFile(true, env), settingsFile(false, env)]) {
    try {
      const { settings } = readSettings(path)
      if (!hasOurs(settings)) continue
      const gone = ourCommands(settings).find((command) => !programIsThere(command))
      return gone === undefined
        ? fine(NAME, `in ${path}`)
        : broken(NAME, `${path} names a program that is gone: run askback install claude-code again`)
    } catch (error) {
      return broken(NAME, messageOf(error))
    }
  }
  return missing(
    NAME,
    'are not installed: askback install claude-code lets one that you start yourself ask here',
  )
}

/** By its name it is looked for in the PATH of whoever starts it; only a path can be checked. */
function programIsThere(command: string): boolean {
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
  return words.slice(0, words.indexOf('hook')).every((word) => !word.startsWith('/') || existsSync(word))
}
