import type { PermissionMode } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { ada, database, listFiles, no, port, testDesk, yes } from './test-desk.test.helper.js'

const readLink = () => Promise.resolve(null)
const inside = { input: { file_path: '/work/a.ts' } }
const outside = { input: { file_path: '/etc/passwd' } }

async function inMode(permissionMode: PermissionMode, cwd: string | undefined = '/work') {
  return testDesk({ readLink, session: { permissionMode, ...(cwd !== undefined && { cwd }) } })
}

describe('the permission table, by the tool and input of a request', () => {
  it.each<[PermissionMode, string, unknown, 'a person' | 'policy']>([
    ['default', 'Write', inside, 'a person'],
    ['default', 'Bash', listFiles, 'a person'],
    ['acceptEdits', 'Write', inside, 'policy'],
    ['acceptEdits', 'Edit', inside, 'policy'],
    ['acceptEdits', 'MultiEdit', inside, 'policy'],
    ['acceptEdits', 'NotebookEdit', inside, 'policy'],
    ['acceptEdits', 'Write', outside, 'a person'],
    ['acceptEdits', 'Write', { input: { path: '/work/a.ts' } }, 'a person'],
    ['acceptEdits', 'Bash', listFiles, 'a person'],
    ['acceptEdits', 'Bash', inside, 'a person'],
    ['plan', 'Write', inside, 'a person'],
    ['plan', 'Bash', listFiles, 'a person'],
    ['bypassPermissions', 'Write', outside, 'policy'],
    ['bypassPermissions', 'Bash', listFiles, 'policy'],
  ])('in %s, %s %j is allowed by %s', async (mode, toolName, request, by) => {
    const { open } = await inMode(mode)
    const asked = await open('approval', request, { toolName })
    if (by === 'a person') expect(asked).toMatchObject({ status: 'pending' })
    else expect(asked).toMatchObject({ settlement: 'approved', via: 'policy', answer: yes })
    expect(asked).not.toHaveProperty('by')
  })

  it('asks about protected paths, also those that the operator added', async () => {
    const { desk, open } = await testDesk({
      readLink,
      protectedPaths: ['deploy'],
      session: { permissionMode: 'acceptEdits', cwd: '/work' },
    })
    const asked = (file_path: string) => open('approval', { input: { file_path } }, { toolName: 'Write' })
    expect(await asked('/work/.git/hooks/pre-commit')).toMatchObject({ status: 'pending' })
    expect(await asked('deploy/prod.yml')).toMatchObject({ status: 'pending' })
    expect(await asked('src/prod.yml')).toMatchObject({ settlement: 'approved', via: 'policy' })
    expect(await desk.session('s').editScope('/work')).toMatchObject({ protectedPaths: ['deploy'] })
  })

  it('uses the folder in which the session was created, also after a restart', async () => {
    const links = new Map([['/work', '/projects/a']])
    const follow = (path: string) => Promise.resolve(links.get(path) ?? null)
    const { desk, open, restart } = await testDesk({
      readLink: follow,
      session: { permissionMode: 'acceptEdits', cwd: '/work' },
    })
    const asked = { input: { file_path: '/etc/cron.d/x' } }
    expect(await open('approval', inside, { toolName: 'Write' })).toMatchObject({ via: 'policy' })
    links.set('/work', '/etc')
    expect(await open('approval', asked, { toolName: 'Write' })).toMatchObject({ status: 'pending' })
    const scope = { cwd: '/work', realCwd: '/projects/a' }
    expect(await desk.session('s').editScope('/work')).toMatchObject(scope)
    expect((await desk.snapshot('s')).session.cwd).toBe('/work')
    const again = restart()
    expect(await again.session('s').editScope('/work')).toMatchObject(scope)
    expect(await again.session('s').editScope('/elsewhere')).not.toHaveProperty('realCwd')
  })

  it('no edit is inside a folder that could not be resolved when the session was created', async () => {
    const links = new Map([['/work', '/work']])
    const { open } = await testDesk({
      readLink: (path) => Promise.resolve(links.get(path) ?? null),
      session: { permissionMode: 'acceptEdits', cwd: '/work' },
    })
    links.delete('/work')
    expect(await open('approval', inside, { toolName: 'Write' })).toMatchObject({ status: 'pending' })
  })

  it('no edit is inside in a session without a folder', async () => {
    const { open } = await testDesk({
      readLink,
      session: { permissionMode: 'acceptEdits' },
    })
    expect(await open('approval', inside, { toolName: 'Write' })).toMatchObject({ status: 'pending' })
  })

  it('no edit is inside for a desk that cannot resolve links', async () => {
    const { open } = await testDesk({ session: { permissionMode: 'acceptEdits', cwd: '/work' } })
    expect(await open('approval', inside, { toolName: 'Write' })).toMatchObject({ status: 'pending' })
  })

  it.each<PermissionMode>(['default', 'acceptEdits', 'plan', 'bypassPermissions'])(
    '%s never answers a question, a form or a plan',
    async (mode) => {
      const { desk, open } = await inMode(mode)
      for (const [kind, request] of [
        ['question', database],
        ['form', port],
        ['plan_review', { plan: 'Do it.' }],
      ] as const) {
        expect(await open(kind, request)).toMatchObject({ status: 'pending' })
      }
      expect((await desk.pending()).interactions).toHaveLength(3)
    },
  )
})

describe('the permission table, by the edit that an adapter names', () => {
  it.each<[PermissionMode, 'inside' | 'outside' | 'plan_file' | 'none', string]>([
    ['default', 'inside', 'pending'],
    ['acceptEdits', 'inside', 'settled'],
    ['acceptEdits', 'outside', 'pending'],
    ['acceptEdits', 'none', 'pending'],
    ['plan', 'inside', 'pending'],
    ['plan', 'plan_file', 'settled'],
  ])('in %s an edit of %s is %s', async (mode, edit, status) => {
    const { open } = await inMode(mode)
    expect(
      await open('approval', { input: { patch: '…' } }, { toolName: 'apply_patch', edit }),
    ).toMatchObject({ status })
  })
})

describe('an approval by policy', () => {
  it('leaves its request and its response in the log, and changes no status', async () => {
    const { open, types } = await inMode('bypassPermissions')
    await open('approval', listFiles)
    expect(await types(1)).toEqual([
      'interaction_pending',
      'interaction_request',
      'interaction_response',
      'interaction_pending',
    ])
  })

  it('is in the audit, via policy and without an actor', async () => {
    const { desk, open } = await inMode('bypassPermissions')
    const { interactionId } = await open('approval', listFiles)
    const [row] = (await desk.audit()).items
    expect(row).toMatchObject({ interactionId, settlement: 'approved', via: 'policy' })
    expect(row).not.toHaveProperty('by')
  })

  it('resumes its agent at once', async () => {
    const { desk } = await inMode('bypassPermissions')
    expect(await desk.session('s').approve({ toolName: 'Bash', ...listFiles })).toMatchObject({
      settlement: 'approved',
      via: 'policy',
      input: listFiles.input,
      inDoubt: false,
    })
  })

  it('follows a change of the mode; pending approvals still need the person', async () => {
    const { desk, open } = await inMode('default')
    const asked = await open('approval', listFiles)
    await desk.setPermissionMode('s', 'bypassPermissions')
    expect(await open('approval', listFiles)).toMatchObject({ settlement: 'approved' })
    expect(await desk.interaction('s', asked.interactionId)).toMatchObject({ status: 'pending' })
    await desk.as(ada).respond({ interactionId: asked.interactionId, answer: no })
    await desk.setPermissionMode('s', 'default')
    expect(await open('approval', listFiles)).toMatchObject({ status: 'pending' })
  })

  it.each(['dontAsk', 'auto', '', 'Default', null])('%j is not a mode', async (mode) => {
    const { desk } = await testDesk()
    const wrong = mode as PermissionMode
    await expect(desk.setPermissionMode('s', wrong)).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(desk.createSession({ permissionMode: wrong })).rejects.toMatchObject({
      code: 'invalid_request',
    })
  })
})
