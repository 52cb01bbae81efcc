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
import {
  hasOurHooks,
  hookGroups,
  readSettings,
  withHooks,
  withoutHooks,
  writeSettings,
} from './claude-code.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'askback-install-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const hooks = hookGroups('askback hook claude-code')
const theirs = { matcher: 'Bash', hooks: [{ type: 'command', command: 'my-own-hook' }] }
const fileOf = (text: string) => ({ text, settings: JSON.parse(text) as Record<string, unknown> })
const pretty = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

const written: [string, string][] = [
  ['nothing', '{}\n'],
  ['other settings', pretty({ model: 'opus', env: { A: '1' } })],
  ['hooks of others', pretty({ hooks: { PreToolUse: [theirs], Stop: [theirs] }, model: 'opus' })],
  ['empty lists', pretty({ hooks: { PreToolUse: [theirs], Stop: [] } })],
  ['no hooks yet', pretty({ hooks: {}, model: 'opus' })],
  ['one line', '{"model":"opus","list":[1, 2],   "x":{}}'],
  [
    'four spaces, and a list in one line',
    '{\n    "permissions": { "allow": ["Bash(ls)"] },\n    "a":   1\n}',
  ],
  ['tabs and the line ends of Windows', '{\r\n\t"model": "opus",\r\n\t"numbers": [1,2,\r\n3]\r\n}\r\n'],
  [
    'hooks of others as they like them',
    '{ "hooks": {\n  "PreToolUse": [ { "matcher": "Bash",\n "hooks": [ {"type":"command","command":"x"} ] } ],\n\n  "Stop": []\n  }, "z": 1.0e3 }\n',
  ],
]

it.each(written)('adds our hooks to %s, and removes exactly them, to the byte', (name, text) => {
  const added = withHooks(fileOf(text), hooks)
  const before = JSON.parse(text) as { hooks?: Record<string, unknown[]> }
  const after = JSON.parse(added) as { hooks: Record<string, unknown[]> }
  for (const [event, groups] of Object.entries(hooks))
    expect(after.hooks[event]).toEqual([...(before.hooks?.[event] ?? []), ...groups])
  expect({ ...after, hooks: before.hooks }).toEqual({ ...before, hooks: before.hooks })
  expect(hasOurHooks(after)).toBe(true)
  const without = withoutHooks(fileOf(added))
  if (name === 'no hooks yet') expect(JSON.parse(without)).toEqual({ model: 'opus' })
  else expect(without).toBe(text)
  expect(withoutHooks(fileOf(text))).toBe(text)
})

it('keeps every line that was there', () => {
  for (const [, text] of written.filter(([name]) => !/nothing|no hooks/.test(name))) {
    const added = withHooks(fileOf(text), hooks)
    let from = 0
    for (const character of text) {
      from = added.indexOf(character, from) + 1
      expect(from).toBeGreaterThan(0)
    }
  }
})

it('adds our hooks once, and replaces older ones', () => {
  const old = withHooks(fileOf('{}\n'), hookGroups("node '/a b/askback.js' hook claude-code --data /x"))
  expect(withHooks(fileOf(old), hooks)).toBe(pretty({ hooks }))
  expect(withHooks(fileOf(pretty({ hooks })), hooks)).toBe(pretty({ hooks }))
})

it('removes our hook from a group of others, and keeps theirs', () => {
  const [ours] = hooks['PreToolUse']![0]!.hooks
  const mixed = { hooks: { PreToolUse: [{ ...theirs, hooks: [ours, ...theirs.hooks] }] } }
  expect(withoutHooks(fileOf(pretty(mixed)))).toBe(pretty({ hooks: { PreToolUse: [theirs] } }))
})

it('refuses settings whose hooks are not lists', () => {
  expect(() => withHooks(fileOf('{"hooks":{"PreToolUse":1}}'), hooks)).toThrow(
    'no list, so nothing was changed',
  )
})

it.each(['{', '[]', '"x"', '{"hooks":[]}', 'null', '{"a":1,}', '// hello\n{}'])(
  'refuses damaged settings: %s',
  (text) => {
    const path = join(folder, 'settings.json')
    writeFileSync(path, text)
    expect(() => readSettings(path)).toThrow('are damaged, so nothing was changed')
  },
)

it('writes to the target of a symbolic link, and keeps the link and the mode', () => {
  const target = join(folder, 'dotfiles.json')
  const path = join(folder, 'home', 'settings.json')
  mkdirSync(join(folder, 'home'))
  writeFileSync(target, '{}', { mode: 0o640 })
  symlinkSync(target, path)
  writeSettings(path, '{"model":"opus"}')
  expect(lstatSync(path).isSymbolicLink()).toBe(true)
  expect(JSON.parse(readFileSync(target, 'utf8'))).toEqual({ model: 'opus' })
  expect((statSync(target).mode & 0o777).toString(8)).toBe('640')
})

it('creates the folder if it is missing', () => {
  const path = join(folder, 'new', 'settings.json')
  const missing = readSettings(path)
  expect(missing.settings).toEqual({})
  writeSettings(path, withHooks(missing, hooks))
  expect(readFileSync(path, 'utf8')).toBe(pretty({ hooks }))
})
