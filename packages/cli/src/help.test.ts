import { describe, expect, it } from 'vitest'
import { AUDIT_FLAGS, LOGOUT_FLAGS, TELEGRAM_FLAGS, TOKEN_FLAGS } from './access.js'
import { ADOPT_FLAGS } from './adopt.js'
import { ANSWER_FLAGS } from './answer.js'
import { ASK_FLAGS, FORM_FLAGS, REQUEST_APPROVAL_FLAGS, REQUEST_FLAGS, WAIT_FLAGS } from './ask.js'
import { ATTACH_FLAGS } from './attach.js'
import { BACKUP_FLAGS } from './backup.js'
import { DOCTOR_FLAGS } from './doctor.js'
import { EXPORT_FLAGS } from './export.js'
import { COMMAND_HELP, commandHelpText, isHelpRequested, overviewText, type CommandName } from './help.js'
import { HOOK_FLAGS } from './hook.js'
import { IMPORT_FLAGS } from './import.js'
import { INSTALL_FLAGS } from './install.js'
import { MCP_FLAGS } from './mcp.js'
import { OPEN_FLAGS } from './open.js'
import { SERVE_FLAGS } from './serve/options.js'
import { LIST_FLAGS, SEND_FLAGS } from './sessions.js'

/** What each command gives to `parseArgs`. */
const parsedFlags: Record<CommandName, object> = {
  serve: SERVE_FLAGS,
  open: OPEN_FLAGS,
  logout: LOGOUT_FLAGS,
  token: TOKEN_FLAGS,
  ask: ASK_FLAGS,
  form: FORM_FLAGS,
  'request-approval': REQUEST_APPROVAL_FLAGS,
  request: REQUEST_FLAGS,
  wait: WAIT_FLAGS,
  pending: LIST_FLAGS,
  answer: ANSWER_FLAGS,
  sessions: LIST_FLAGS,
  attach: ATTACH_FLAGS,
  send: SEND_FLAGS,
  adopt: ADOPT_FLAGS,
  audit: AUDIT_FLAGS,
  mcp: MCP_FLAGS,
  hook: HOOK_FLAGS,
  install: INSTALL_FLAGS,
  uninstall: INSTALL_FLAGS,
  telegram: TELEGRAM_FLAGS,
  backup: BACKUP_FLAGS,
  restore: BACKUP_FLAGS,
  export: EXPORT_FLAGS,
  import: IMPORT_FLAGS,
  doctor: DOCTOR_FLAGS,
}

describe.each(Object.keys(COMMAND_HELP) as CommandName[])('askback %s --help', (name) => {
  const text = commandHelpText(COMMAND_HELP[name])

  it('has a usage line, options and examples', () => {
    expect(text).toMatch(new RegExp(`^Usage: askback ${name}\\b`))
    expect(text).toContain('\nOptions:\n  --')
    expect(text).toMatch(/\nExamples:\n {2}\S/)
  })

  it('lists exactly the options that the command parses', () => {
    const listed = Array.from(text.matchAll(/^ {2}--([a-z-]+)/gm), ([, flag]) => flag!)
    expect(listed.toSorted()).toEqual(Object.keys(parsedFlags[name]).toSorted())
  })

  it('fits a terminal, as does the overview', () => {
    for (const line of `${text}${overviewText()}`.split('\n')) expect(line.length).toBeLessThanOrEqual(120)
  })
})

it('takes --help for a request for help only before --', () => {
  expect(isHelpRequested(['a', '--help'])).toBe(true)
  expect(isHelpRequested(['-h'])).toBe(true)
  expect(isHelpRequested(['a', '--', '--help'])).toBe(false)
})
