import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { keys, PseudoTerminal } from '../../connectors/pseudo-terminal.js'
import { newFolder } from '../http/command.js'
import { run } from '../http/gateways.js'
import { end } from './asking.js'

const install = ['install', 'claude-code']
const uninstall = ['uninstall', 'claude-code']

/** A home with these settings of Claude Code, or none. */
function homeWith(settings?: string): { HOME: string; file: string } {
  const HOME = newFolder()
  const file = join(HOME, '.claude/settings.json')
  if (settings !== undefined) {
    mkdirSync(join(HOME, '.claude'))
    writeFileSync(file, settings)
  }
  return { HOME, file }
}

const command = (args: string[], HOME: string, cwd?: string) =>
  end(run(args, { HOME }, cwd === undefined ? {} : { cwd }))

describe('at a terminal', () => {
  it.each(['y', 'yes', 'Y'])('shows what it adds, and writes it after %j', async (answer) => {
    const { HOME, file } = homeWith()
    const terminal = new PseudoTerminal(install, { HOME })
    await terminal.expectText('Write it? [y/N]')
    expect(terminal.raw).toContain(`This goes into ${file}:`)
    expect(terminal.raw).toContain('"PermissionRequest"')
    expect(existsSync(file)).toBe(false)
    terminal.press(`${answer}\r`)
    expect(await terminal.ended).toBe(0)
    expect(terminal.raw).toContain('Done. Claude Code asks through Askback while a gateway runs')
    expect(readFileSync(file, 'utf8')).toContain('hook claude-code')
  })

  it.each([
    ['n', 'n\r'],
    ['nothing', '\r'],
    ['anything else', 'yes please\r'],
    ['Ctrl-C', keys.ctrlC],
    ['Ctrl-D', '\u0004'],
  ])('writes nothing after %s', async (_, pressed) => {
    const { HOME, file } = homeWith('{"model": "opus"}')
    const terminal = new PseudoTerminal(install, { HOME })
    await terminal.expectText('Write it? [y/N]')
    terminal.press(pressed)
    expect(await terminal.ended).toBe(4)
    expect(terminal.raw).toContain('Nothing was changed.')
    expect(readFileSync(file, 'utf8')).toBe('{"model": "opus"}')
  })
})

it('requires --yes without a terminal', async () => {
  const { HOME, file } = homeWith()
  const { code, stdout, stderr } = await command(install, HOME)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/\nNobody is here to agree: add --yes to write it\. See askback --help\.\n$/)
  expect(existsSync(file)).toBe(false)
})

it('adds its hook to existing settings once, and removes only that', async () => {
  const own = '{\n    "model": "opus",\n    "permissions": { "allow": ["Bash(ls)"] }\n}\n'
  const { HOME, file } = homeWith(own)
  expect(await command([...install, '--yes'], HOME)).toMatchObject({ code: 0, stdout: '' })
  const added = readFileSync(file, 'utf8')
  expect(added.startsWith(own.slice(0, own.lastIndexOf('\n}')))).toBe(true)
  expect(await command([...install, '--yes'], HOME)).toMatchObject({
    code: 0,
    stderr: `It is there already, in ${file}.\n`,
  })
  expect(readFileSync(file, 'utf8')).toBe(added)
  expect(await command(uninstall, HOME)).toMatchObject({ code: 0, stderr: `Removed from ${file}.\n` })
  expect(readFileSync(file, 'utf8')).toBe(own)
  expect(await command(uninstall, HOME)).toMatchObject({
    code: 0,
    stderr: `There is nothing of Askback in ${file}.\n`,
  })
  // No drafts are left beside it.
  expect(readdirSync(join(HOME, '.claude'))).toEqual(['settings.json'])
})

it('writes the settings of one folder, and for a named gateway', async () => {
  const { HOME, file } = homeWith()
  const cwd = newFolder()
  const args = [...install, '--yes', '--project', '--data', 'my data', '--url', 'http://127.0.0.1:4100']
  expect(await command(args, HOME, cwd)).toMatchObject({ code: 0 })
  expect(existsSync(file)).toBe(false)
  const local = readFileSync(join(cwd, '.claude/settings.local.json'), 'utf8')
  expect(local).toContain(`hook claude-code --data '${join(cwd, 'my data')}' --url http://127.0.0.1:4100"`)
})

it.each([
  ['damaged', '{ "model": '],
  ['with hooks that are no object', '{ "hooks": [1] }'],
])('leaves settings alone that are %s', async (_, text) => {
  const { HOME, file } = homeWith(text)
  for (const args of [[...install, '--yes'], uninstall])
    expect(await command(args, HOME)).toEqual({
      code: 2,
      stdout: '',
      stderr: `The settings ${file} are damaged, so nothing was changed.\n`,
    })
  expect(readFileSync(file, 'utf8')).toBe(text)
})

it.each([[['install']], [['install', 'codex']], [['uninstall', 'claude-code', 'more']]])(
  'says how %j is meant',
  async (args) => {
    const { code, stderr } = await command(args, newFolder())
    expect(code).toBe(2)
    expect(stderr).toMatch(/^Usage: askback (un)?install claude-code\. See askback --help\.\n$/)
  },
)
