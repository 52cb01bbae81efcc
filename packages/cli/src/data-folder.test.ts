import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { defaultDataFolder, homeFolder, isProcessRunning, openDataFolder } from './data-folder.js'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'askback-data-'))
})
afterEach(() => rmSync(root, { recursive: true }))

it.each([
  ['linux', {}, join(homedir(), '.local/share/askback')],
  ['linux', { XDG_DATA_HOME: '/data' }, '/data/askback'],
  ['linux', { XDG_DATA_HOME: '' }, join(homedir(), '.local/share/askback')],
  ['linux', { XDG_DATA_HOME: 'data' }, join(homedir(), '.local/share/askback')],
  ['darwin', {}, join(homedir(), 'Library/Application Support/askback')],
  ['win32', { LOCALAPPDATA: '/local' }, '/local/askback'],
] as const)('on %s with %o the default folder is %s', (platform, env, folder) => {
  expect(defaultDataFolder(env, platform)).toBe(folder)
})

it.each(['', 'here'])('does not write to the current folder if HOME is %j', (home) => {
  expect(homeFolder(home)).toBe(userInfo().homedir)
  expect(homeFolder('/home/ada')).toBe('/home/ada')
})

it('creates the folder and its parents for their owner only', () => {
  const folder = openDataFolder(join(root, 'a/b'))
  expect((statSync(folder).mode & 0o777).toString(8)).toBe('700')
})

it('removes the access of others', () => {
  chmodSync(root, 0o755)
  openDataFolder(root)
  expect((statSync(root).mode & 0o777).toString(8)).toBe('700')
})

it('refuses a file, and a path through a file', () => {
  const file = join(root, 'file')
  writeFileSync(file, '')
  expect(() => openDataFolder(file)).toThrow(/^The data folder .* cannot be used: it is a file\.$/)
  expect(() => openDataFolder(join(file, 'x'))).toThrow(/cannot be used: a file is in the way\.$/)
})

it('a zombie is not a running process', async () => {
  // The shell is replaced by a program that never reaps the child of the shell.
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [said] = (await once(parent.stdout, 'data')) as [Buffer]
    const child = Number(said.toString())
    expect(isProcessRunning(child)).toBe(true)
    process.kill(child, 'SIGKILL')
    await expect.poll(() => isProcessRunning(child)).toBe(false)
    // Its id is still in use.
    expect(process.kill(child, 0)).toBe(true)
    expect(isProcessRunning(parent.pid!)).toBe(true)
  } finally {
    parent.kill('SIGKILL')
  }
  await once(parent, 'exit')
  expect(isProcessRunning(parent.pid!)).toBe(false)
})
