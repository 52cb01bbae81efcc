import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { isInside } from './is-inside.js'

let root: string
let cwd: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'askback-')))
  cwd = join(root, 'project')
  mkdirSync(join(cwd, 'src'), { recursive: true })
  mkdirSync(join(root, 'outside'))
  mkdirSync(join(root, 'project-two'))
  writeFileSync(join(cwd, 'a.txt'), '')
  symlinkSync(join(root, 'outside'), join(cwd, 'link-out'))
  symlinkSync(join(cwd, 'src'), join(cwd, 'link-in'))
  symlinkSync(join(root, 'outside', 'new.txt'), join(cwd, 'dangling-out'))
  symlinkSync('src/new.txt', join(cwd, 'dangling-in'))
  symlinkSync('loop', join(cwd, 'loop'))
  symlinkSync(cwd, join(root, 'link-to-project'))
})
afterEach(() => rmSync(root, { recursive: true }))

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
  expect(await isInside(cwd, path)).toBe(true)
  expect(await isInside(cwd, join(cwd, path))).toBe(true)
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
  'loop',
  'loop/x',
  'a.txt/x',
  'a\0b',
  '/etc/passwd',
  '~/x/../../../../etc/passwd',
])('%j is not', async (path) => {
  expect(await isInside(cwd, path)).toBe(false)
})

it('follows links on the way to the folder itself', async () => {
  const linked = join(root, 'link-to-project')
  expect(await isInside(linked, 'a.txt')).toBe(true)
  expect(await isInside(linked, join(cwd, 'a.txt'))).toBe(true)
  expect(await isInside(linked, '../x')).toBe(false)
})

it('holds nothing if the folder is not there', async () => {
  expect(await isInside(join(root, 'nowhere'), 'x')).toBe(false)
})
