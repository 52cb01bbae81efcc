import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { hasOurs, hookGroups, readSettings, withHooks, withoutHooks, writeSettings } from './claude-code.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'askback-install-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const hooks = hookGroups('askback hook claude-code')
const theirs = { matcher: 'Bash', hooks: [{ type: 'command', command: 'my-own-hook' }] }

it.each([
  ['nothing', {}],
  ['other settings', { model: 'opus' }],
  ['hooks of others', { hooks: { PreToolUse: [theirs], Stop: [theirs] }, model: 'opus' }],
  ['empty lists', { hooks: { PreToolUse: [theirs], Stop: [] } }],
])('adds to %s, and takes away just that', (_, settings) => {
  const added = withHooks(settings, hooks)
  expect(hasOurs(added)).toBe(true)
  expect(withoutHooks(added)).toEqual(settings)
  expect(JSON.stringify(withoutHooks(settings))).toBe(JSON.stringify(settings))
})

it('is there once, however often it is added, and as it was added last', () => {
  const old = withHooks({}, hookGroups("node '/a b/askback.js' hook claude-code --data /x"))
  expect(withHooks(old, hooks)).toEqual({ hooks })
  expect(withHooks({ hooks }, hooks)).toEqual({ hooks })
})

it('leaves the others in a group that somebody has put it into', () => {
  const [ours] = hooks['PreToolUse']![0]!.hooks
  const mixed = { hooks: { PreToolUse: [{ ...theirs, hooks: [ours, ...theirs.hooks] }] } }
  expect(withoutHooks(mixed)).toEqual({ hooks: { PreToolUse: [theirs] } })
})

it.each(['{', '[]', '"x"', '{"hooks":[]}', 'null'])('refuses settings that are damaged: %s', (text) => {
  const path = join(folder, 'settings.json')
  writeFileSync(path, text)
  expect(() => readSettings(path)).toThrow('are damaged, so nothing was changed')
})

it('writes where a link leads, and leaves the link and the mode', () => {
  const target = join(folder, 'dotfiles.json')
  const path = join(folder, 'home', 'settings.json')
  mkdirSync(join(folder, 'home'))
  writeFileSync(target, '{}', { mode: 0o640 })
  symlinkSync(target, path)
  writeSettings(path, { model: 'opus' })
  expect(lstatSync(path).isSymbolicLink()).toBe(true)
  expect(JSON.parse(readFileSync(target, 'utf8'))).toEqual({ model: 'opus' })
  expect((statSync(target).mode & 0o777).toString(8)).toBe('640')
})

it('makes the folder that is missing', () => {
  const path = join(folder, 'new', 'settings.json')
  expect(readSettings(path)).toEqual({})
  writeSettings(path, { hooks })
  expect(readSettings(path)).toEqual({ hooks })
})
