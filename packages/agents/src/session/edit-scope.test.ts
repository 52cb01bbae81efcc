import { createDesk, memoryStore } from '@askback/core'
import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { editScopeOf, readLink, targetOfCall, targetOfFiles } from './edit-scope.js'

const root = await realpath(await mkdtemp(join(tmpdir(), 'askback-edits-')))
const cwd = join(root, 'work')
const plans = join(root, 'plans')
await Promise.all([cwd, plans, join(root, 'other')].map((path) => mkdir(path)))
await symlink(join(root, 'other'), join(cwd, 'out'))
await symlink(join(root, 'other/not-there'), join(cwd, 'dangling'))

afterAll(() => rm(root, { recursive: true }))

it.each([
  ['Write', { file_path: join(cwd, 'a/b.txt') }, 'inside'],
  ['Edit', { file_path: 'a.txt' }, 'inside'],
  ['MultiEdit', { file_path: join(cwd, '../work/a.txt') }, 'inside'],
  ['NotebookEdit', { notebook_path: join(cwd, 'n.ipynb') }, 'inside'],
  ['Write', { file_path: join(cwd, '../other/a.txt') }, 'outside'],
  ['Write', { file_path: join(root, 'work-too/a.txt') }, 'outside'],
  ['Write', { file_path: join(cwd, 'out/a.txt') }, 'outside'],
  ['Write', { file_path: join(cwd, 'dangling') }, 'outside'],
  ['Write', { file_path: cwd }, 'outside'],
  ['Write', { file_path: join(cwd, '.claude/settings.json') }, 'outside'],
  ['Write', { file_path: join(cwd, 'a/.git/hooks/pre-commit') }, 'outside'],
  ['Write', { file_path: join(cwd, '.mcp.json') }, 'outside'],
  ['Write', { file_path: join(cwd, '.vscode/tasks.json') }, 'outside'],
  ['Write', { file_path: join(cwd, '.github/workflows/ci.yml') }, 'outside'],
  ['Write', { file_path: 'out/../a.txt' }, 'outside'],
  ['Write', { file_path: '~/a.txt' }, 'outside'],
  ['Write', { file_path: join(cwd, '.gitignore') }, 'inside'],
  ['Write', { file_path: '' }, 'outside'],
  ['Write', {}, 'outside'],
  ['Write', { file_path: join(plans, 'plan.md') }, 'plan_file'],
  ['Bash', { command: `touch ${cwd}/a`, file_path: join(cwd, 'a') }, 'none'],
  ['toString', { file_path: join(cwd, 'a') }, 'none'],
])('%s of %j is %s', async (toolName, input, expected) => {
  expect(await targetOfCall(toolName, input, { cwd, plans })).toBe(expected)
})

it('files that an agent names count as inside only if all of them are, and none is in a protected path', async () => {
  expect(await targetOfFiles(['a.txt', join(cwd, 'b.txt')], { cwd })).toBe('inside')
  expect(await targetOfFiles(['a.txt', '.npmrc'], { cwd })).toBe('outside')
  expect(await targetOfFiles(['a.txt', 'deploy/b'], { cwd, protectedPaths: ['deploy'] })).toBe('outside')
})

it.each([true, false])(
  'edits through a folder that the agent has replaced by a link are outside (recorded in the session: %s)',
  async (isRecorded) => {
    const [folder, plansFolder] = [join(root, `replaced-${isRecorded}`), join(root, `plans-${isRecorded}`)]
    await Promise.all([folder, plansFolder].map((path) => mkdir(path)))
    const desk = createDesk({ store: memoryStore() })
    const session = desk.session('s', isRecorded ? { cwd: folder } : {})
    const editScope = editScopeOf(session, { cwd: folder, plans: plansFolder })
    expect(await targetOfFiles(['a.txt'], await editScope())).toBe('inside')
    expect(await targetOfFiles([join(plansFolder, 'p.md')], await editScope())).toBe('plan_file')
    for (const path of [folder, plansFolder]) {
      await rm(path, { recursive: true })
      await symlink(join(root, 'other'), path)
    }
    for (const path of ['a.txt', join(folder, 'a.txt'), join(root, 'other/a.txt'), join(plansFolder, 'p.md')])
      expect([path, await targetOfFiles([path], await editScope())]).toEqual([path, 'outside'])
    desk.close()
  },
)

it('a restarted agent is measured by the folder that its session recorded, even if a link has replaced it', async () => {
  const folder = join(root, 'started-again')
  await mkdir(folder)
  const desk = createDesk({ store: memoryStore(), readLink })
  const session = desk.session('s', { cwd: folder })
  expect(await session.editScope(folder)).toMatchObject({ realCwd: folder })
  await rm(folder, { recursive: true })
  await symlink(join(root, 'other'), folder)
  const editScope = editScopeOf(session, { cwd: folder })
  expect(await targetOfFiles(['a.txt'], await editScope())).toBe('outside')
  desk.close()
})
