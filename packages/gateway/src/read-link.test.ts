import { editTarget } from '@askback/core/internal'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readLink } from './read-link.js'

let root: string
let cwd: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'askback-')))
  cwd = join(root, 'project')
  mkdirSync(join(cwd, 'src'), { recursive: true })
  mkdirSync(join(cwd, '.git', 'hooks'), { recursive: true })
  mkdirSync(join(root, 'outside'))
  mkdirSync(join(root, 'project-two'))
  writeFileSync(join(cwd, 'a.txt'), '')
  symlinkSync(join(root, 'outside'), join(cwd, 'link-out'))
  symlinkSync(join(cwd, 'src'), join(cwd, 'link-in'))
  symlinkSync(join(root, 'outside', 'new.txt'), join(cwd, 'dangling-out'))
  symlinkSync('src/new.txt', join(cwd, 'dangling-in'))
  symlinkSync('.git/hooks', join(cwd, 'link-hooks'))
  symlinkSync('loop', join(cwd, 'loop'))
  symlinkSync(cwd, join(root, 'link-to-project'))
})
afterEach(() => rmSync(root, { recursive: true }))

const target = (path: string, folder = cwd) =>
  editTarget({ toolName: 'Write', input: { file_path: path } }, { cwd: folder }, readLink)

it.each([
  'a.txt',
  './a.txt',
  'src/../a.txt',
  'new.txt',
  'deep/er/new.txt',
  'link-in/new.txt',
  'dangling-in',
  '..name',
])('%s is inside', async (path) => {
  expect(await target(path)).toBe('inside')
  expect(await target(join(cwd, path))).toBe('inside')
})

it.each([
  '',
  '.',
  '..',
  '../x',
  '../project-two/x',
  'src/../../x',
  'link-out/x',
  'link-out/../x',
  'dangling-out',
  'link-hooks/pre-commit',
  'link-in/../.git/config',
  'loop',
  'loop/x',
  'a.txt/x',
  'a\0b',
  '/etc/passwd',
  '~/x',
  '$HOME/x',
])('%j is not', async (path) => {
  expect(await target(path)).toBe('outside')
})

it('follows links on the way to the folder itself', async () => {
  const linked = join(root, 'link-to-project')
  expect(await target('a.txt', linked)).toBe('inside')
  expect(await target(join(cwd, 'a.txt'), linked)).toBe('inside')
  expect(await target('../x', linked)).toBe('outside')
})
