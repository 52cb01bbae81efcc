import type { Json } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { editTarget, PROTECTED_PATHS, targetOfPaths, type EditScope } from './edit-target.js'

/** A file system of links alone. */
const links =
  (from: Record<string, string> = {}) =>
  (path: string) =>
    Promise.resolve(from[path] ?? null)

const write = (path: string, scope: Partial<EditScope> = {}, from: Record<string, string> = {}) =>
  editTarget({ toolName: 'Write', input: { file_path: path } }, { cwd: '/work', ...scope }, links(from))

describe('what a tool would write', () => {
  it.each<[string, Json, string]>([
    ['Write', { file_path: 'a.ts' }, 'inside'],
    ['Edit', { file_path: '/work/a.ts' }, 'inside'],
    ['MultiEdit', { file_path: 'a.ts' }, 'inside'],
    ['NotebookEdit', { notebook_path: 'n.ipynb' }, 'inside'],
    ['NotebookEdit', { notebook_path: 'n.ipynb', file_path: '/etc/passwd' }, 'outside'],
    ['Write', { path: 'a.ts' }, 'outside'],
    ['Write', {}, 'outside'],
    ['Write', { file_path: 1 }, 'outside'],
    ['Write', { file_path: ['a.ts'] }, 'outside'],
    ['Write', ['a.ts'], 'outside'],
    ['Write', null, 'outside'],
    ['write', { file_path: 'a.ts' }, 'none'],
    ['Bash', { command: 'touch a.ts', file_path: 'a.ts' }, 'none'],
    ['toString', { file_path: 'a.ts' }, 'none'],
  ])('%s of %j is %s', async (toolName, input, expected) => {
    expect(await editTarget({ toolName, input }, { cwd: '/work' }, links())).toBe(expected)
  })

  it('is inside nothing without a folder, or for a host that cannot follow links', async () => {
    expect(await write('/work/a.ts', { cwd: null })).toBe('outside')
    const call = { toolName: 'Write', input: { file_path: 'a.ts' } }
    expect(await editTarget(call, { cwd: '/work' }, undefined)).toBe('outside')
  })

  it('is inside only if everything that an agent names is', async () => {
    const scope = { cwd: '/work' }
    expect(await targetOfPaths(['a', '/work/b'], scope, links())).toBe('inside')
    expect(await targetOfPaths(['a', '/etc/b'], scope, links())).toBe('outside')
    expect(await targetOfPaths([], scope, links())).toBe('outside')
  })

  it('is the plan where the agent keeps its plans', async () => {
    const plans = '/home/.claude/plans'
    expect(await write('/home/.claude/plans/p.md', { plans })).toBe('plan_file')
    expect(await write('/home/.claude/plans/../settings.json', { plans })).toBe('outside')
    expect(await write('p.md', { plans })).toBe('inside')
  })
})

describe('a protected place', () => {
  it.each(PROTECTED_PATHS)('%s is none to edit in, at any depth and in any case', async (place) => {
    for (const path of [place, `${place}/x`, `a/b/${place}/x`, place.toUpperCase(), `/work/${place}/x`])
      expect([path, await write(path)]).toEqual([path, 'outside'])
  })

  it.each([
    '.git/hooks/pre-commit',
    '.GIT/config',
    'a/../.git/config',
    '.g\u200cit/config',
    '.git./config',
    '.git /config',
    '.git::$INDEX_ALLOCATION/config',
    '.ｇｉｔ/config',
    '.github//workflows/ci.yml',
    '.github/./workflows/ci.yml',
    '.claude/settings.json',
  ])('%j is protected', async (path) => {
    expect(await write(path)).toBe('outside')
  })

  it.each(['.gitignore', '.github/CODEOWNERS', 'workflows/ci.yml', 'a.npmrc', 'git/x', '.claude-notes'])(
    '%s is an ordinary file',
    async (path) => {
      expect(await write(path)).toBe('inside')
    },
  )

  it('can be added, and is found behind a link', async () => {
    const protectedPaths = ['deploy/prod', 'Secrets/']
    expect(await write('deploy/prod/a.yml', { protectedPaths })).toBe('outside')
    expect(await write('x/secrets/a', { protectedPaths })).toBe('outside')
    expect(await write('deploy/test/a.yml', { protectedPaths })).toBe('inside')
    expect(await write('hooks/pre-commit', {}, { '/work/hooks': '.git/hooks' })).toBe('outside')
  })

  it('counts below the folder, not above it', async () => {
    expect(await write('a.ts', { cwd: '/home/.claude/worktrees/x' })).toBe('inside')
  })
})

describe('links', () => {
  const from = {
    '/work/out': '/etc',
    '/work/in': 'src',
    '/work/up': '..',
    '/work/loop': 'loop',
    '/link': '/work',
  }

  it.each([
    ['in/a', 'inside'],
    ['out/a', 'outside'],
    ['up/a', 'outside'],
    ['up/work/a', 'inside'],
    // The folder that holds the link, or the one above where it leads.
    ['out/../a', 'outside'],
    ['in/../a', 'inside'],
    ['up/../a', 'outside'],
    ['loop', 'outside'],
    ['/link/a', 'inside'],
  ])('%s is %s', async (path, expected) => {
    expect(await write(path, {}, from)).toBe(expected)
  })

  it('is outside where a link cannot be read', async () => {
    const failing = () => Promise.reject(new Error('EACCES'))
    const call = { toolName: 'Write', input: { file_path: 'a' } }
    expect(await editTarget(call, { cwd: '/work' }, failing)).toBe('outside')
  })
})

describe('how a path is written', () => {
  it.each([
    '~/a',
    '~root/a',
    '$HOME/a',
    '${HOME}/a',
    '$(pwd)/a',
    '',
    '.',
    '..',
    '../work-too/a',
    'a\0b',
    '/',
  ])('%j is outside', async (path) => {
    expect(await write(path)).toBe('outside')
  })

  it.each([
    ['C:\\work\\a.ts', 'inside'],
    ['c:/work/a.ts', 'inside'],
    ['src\\a.ts', 'inside'],
    ['src/../a.ts', 'inside'],
    ['..\\a.ts', 'outside'],
    ['C:\\work\\..\\a.ts', 'outside'],
    ['D:\\work\\a.ts', 'outside'],
    ['C:a.ts', 'outside'],
    ['\\work\\a.ts', 'outside'],
    ['\\\\server\\share\\work\\a.ts', 'outside'],
    ['.git\\config', 'outside'],
    ['.GIT\\hooks/pre-commit', 'outside'],
    ['.github\\workflows\\ci.yml', 'outside'],
  ])('on Windows %s is %s', async (path, expected) => {
    expect(await write(path, { cwd: 'C:\\work' })).toBe(expected)
  })

  it('takes a backslash for a letter elsewhere', async () => {
    expect(await write('..\\a')).toBe('inside')
  })
})
