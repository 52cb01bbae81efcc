import type { Json } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { editTarget, PROTECTED_PATHS, targetOfPaths, type EditScope } from './edit-target.js'

/** A file system that has only links. */
const links =
  (from: Record<string, string> = {}) =>
  (path: string) =>
    Promise.resolve(from[path] ?? null)

const write = (path: string, scope: Partial<EditScope> = {}, from: Record<string, string> = {}) =>
  editTarget({ toolName: 'Write', input: { file_path: path } }, { cwd: '/work', ...scope }, links(from))

describe('the target of an edit', () => {
  it.each<[string, Json, string]>([
    ['Write', { file_path: 'a.ts' }, 'inside'],
    ['Edit', { file_path: '/work/a.ts' }, 'inside'],
    ['MultiEdit', { file_path: 'a.ts' }, 'inside'],
    ['NotebookEdit', { notebook_path: 'n.ipynb' }, 'inside'],
    ['NotebookEdit', { notebook_path: 'n.ipynb', file_path: '/etc/passwd' }, 'outside'],
    ['Write', { path: 'a.ts' }, 'outside'],
    ['Write', { file_path: 'a.ts', path: 'b.ts', content: '/etc/passwd' }, 'inside'],
    ['Edit', { file_path: 'a.ts', old_string: '{"path":"/etc"}', new_string: '~/x' }, 'inside'],
    ['MultiEdit', { file_path: 'a.ts', edits: [{ file_path: 'a.ts', old_string: '/etc' }] }, 'inside'],
    ['MultiEdit', { file_path: 'a.ts', edits: [{ file_path: 'a.ts' }, { file_path: '/etc/x' }] }, 'outside'],
    ['MultiEdit', { file_path: 'a.ts', edits: [{ to: { newPath: '../x' } }] }, 'outside'],
    ['Write', { file_path: 'a.ts', path: ['b.ts'] }, 'outside'],
    ['Write', { file_path: 'a.ts', path: null }, 'outside'],
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

  it.each([
    'path',
    'Path',
    'filePath',
    'FILE_PATH',
    'file-path',
    'notebookPath',
    'filename',
    'file_name',
    'fileName',
    'file',
    'target_file',
    'targetFile',
    'relative_workspace_path',
    'absolutePath',
    'newpath',
    'paths',
    'files',
    'destination',
    'uri',
    'folder',
    'directory',
    'cwd',
  ])('is inside only if every path is, also the one in %s', async (key) => {
    const target = (path: string) =>
      editTarget({ toolName: 'Write', input: { file_path: 'a.ts', [key]: path } }, { cwd: '/work' }, links())
    expect(await target('/etc/passwd')).toBe('outside')
    expect(await target('.git/config')).toBe('outside')
    expect(await target('file:///etc/passwd')).toBe('outside')
    expect(await target('b.ts')).toBe('inside')
  })

  it('is outside without a folder, or if the host cannot resolve links', async () => {
    expect(await write('/work/a.ts', { cwd: null })).toBe('outside')
    const call = { toolName: 'Write', input: { file_path: 'a.ts' } }
    expect(await editTarget(call, { cwd: '/work' }, undefined)).toBe('outside')
  })

  it('is inside only if every path that an agent names is', async () => {
    const scope = { cwd: '/work' }
    expect(await targetOfPaths(['a', '/work/b'], scope, links())).toBe('inside')
    expect(await targetOfPaths(['a', '/etc/b'], scope, links())).toBe('outside')
    expect(await targetOfPaths([], scope, links())).toBe('outside')
  })

  it('is the plan file in the folder of the agent’s plans', async () => {
    const plans = '/home/.claude/plans'
    expect(await write('/home/.claude/plans/p.md', { plans })).toBe('plan_file')
    expect(await write('/home/.claude/plans/../settings.json', { plans })).toBe('outside')
    expect(await write('p.md', { plans })).toBe('inside')
  })
})

describe('a protected path', () => {
  it.each(PROTECTED_PATHS)('%s is never inside, at any depth and in any case', async (place) => {
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
    'GIT~1/config',
    'a/CLAUDE~12/x',
    '.claude.json',
    '.cursor/mcp.json',
    '.ssh/authorized_keys',
    '.cargo/config.toml',
    '.cargo/config',
    '.github/actions/x/action.yml',
    '.Gitlab-CI.yml',
  ])('%j is protected', async (path) => {
    expect(await write(path)).toBe('outside')
  })

  it.each([
    '.gitignore',
    '.github/CODEOWNERS',
    'workflows/ci.yml',
    'a.npmrc',
    'git/x',
    '.claude-notes',
    'a~',
    '.cargo/x',
    '.pre-commit',
  ])('%s is an ordinary file', async (path) => {
    expect(await write(path)).toBe('inside')
  })

  it('can be added, and is found behind a link', async () => {
    const protectedPaths = ['deploy/prod', 'Secrets/']
    expect(await write('deploy/prod/a.yml', { protectedPaths })).toBe('outside')
    expect(await write('x/secrets/a', { protectedPaths })).toBe('outside')
    expect(await write('deploy/test/a.yml', { protectedPaths })).toBe('inside')
    expect(await write('hooks/pre-commit', {}, { '/work/hooks': '.git/hooks' })).toBe('outside')
  })

  it.each([
    '/repo/.git',
    '/repo/.git/hooks',
    '/home/.claude',
    '/home/.claude/worktrees',
    '/home/.claude/worktrees/.git/x',
    '/repo/.git/.claude/worktrees/x',
    '/home/.ssh/.codex/worktrees/x',
    '/home/.claude/worktrees/x/.claude/skills',
    '/home/.vscode/worktrees/x',
  ])('contains the folder %s', async (cwd) => {
    expect(await write('a.ts', { cwd })).toBe('outside')
  })

  it.each([
    '/home/.claude/worktrees/x',
    '/home/.codex/worktrees/x/packages/a',
    '/w/.claude/worktrees/x/.claude/worktrees/y',
  ])('does not contain %s, a worktree of an agent', async (cwd) => {
    expect(await write('a.ts', { cwd })).toBe('inside')
    expect(await write('.claude/settings.json', { cwd })).toBe('outside')
    expect(await write('.git', { cwd })).toBe('outside')
  })
})

describe('the folder of the session', () => {
  it.each(['/', '//', '/work/..', 'C:\\', 'c:/', '\\\\server\\share\\'])(
    'is not a project if it is %s',
    async (cwd) => {
      expect(await write('a.ts', { cwd })).toBe('outside')
      expect(await write('a.ts', { cwd, realCwd: cwd })).toBe('outside')
    },
  )

  it('is the one that was resolved when the session was created, even if a link replaces it later', async () => {
    const scope = { cwd: '/link', realCwd: '/work' }
    const before = { '/link': '/work' }
    for (const path of ['a.ts', '/link/a.ts', '/work/a.ts'])
      expect([path, await write(path, scope, before)]).toEqual([path, 'inside'])
    for (const after of ['/', '/etc', '/work-two', '/work/..', '/work/.git'])
      for (const path of ['a.ts', '/link/a.ts', '/etc/passwd'])
        expect([after, path, await write(path, scope, { '/link': after })]).toEqual([after, path, 'outside'])
    expect(await write('/work/a.ts', scope, { '/link': '/etc' })).toBe('inside')
  })

  it('is not the target of a link that replaced it', async () => {
    const scope = { cwd: '/work', realCwd: '/work' }
    for (const path of ['etc/passwd', '/etc/passwd', '/work/etc/passwd'])
      expect(await write(path, scope, { '/work': '/' })).toBe('outside')
  })

  it('contains no edit if it could not be resolved then', async () => {
    expect(await write('a.ts', { realCwd: null })).toBe('outside')
  })

  it('on Windows is a folder on a drive or share', async () => {
    const scope = { cwd: 'C:\\link', realCwd: 'c:\\work' }
    expect(await write('a.ts', scope, { 'c:\\link': 'C:\\work' })).toBe('inside')
    expect(await write('a.ts', scope, { 'c:\\link': 'D:\\work' })).toBe('outside')
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
    // Some tools resolve this to the folder of the link, others to the parent of its target.
    ['out/../a', 'outside'],
    ['in/../a', 'inside'],
    ['up/../a', 'outside'],
    ['loop', 'outside'],
    ['/link/a', 'inside'],
  ])('%s is %s', async (path, expected) => {
    expect(await write(path, {}, from)).toBe(expected)
  })

  it('is outside if a link cannot be read', async () => {
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

  it('a backslash is an ordinary character on other systems', async () => {
    expect(await write('..\\a')).toBe('inside')
  })
})
