import { createDesk, memoryStore, jumpAwareClock } from '@askback/core'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { Grants } from '../session/approval.js'
import { editScopeOf } from '../session/edit-scope.js'
import type { FileChange } from './app-server-protocol.js'
import { answerRequest, type RequestPorts } from './requests.js'

const cwd = await realpath(await mkdtemp(join(tmpdir(), 'askback-codex-')))
afterAll(() => rm(cwd, { recursive: true }))

/** The decision about a patch in a session that accepts edits inside its folder. */
async function decisionAbout(changes: FileChange[], asked: object = {}): Promise<unknown> {
  const desk = createDesk({ store: memoryStore(), onError: (error) => expect.unreachable(String(error)) })
  onTestFinished(() => desk.close())
  await desk.createSession({ id: 's', agent: 'codex', cwd, permissionMode: 'acceptEdits' })
  const session = desk.session('s')
  const abort = new AbortController()
  const ports: RequestPorts = {
    session,
    editScope: editScopeOf(session, { cwd }),
    clock: jumpAwareClock,
    grants: new Grants(),
    signal: () => abort.signal,
    logCall: async () => {},
    logResult: async () => {},
    changesOf: () => changes,
    lastCallTo: () => null,
    hasPendingRequest: () => false,
    tellModel: async () => {},
    agentIdOf: () => undefined,
  }
  let answered: unknown
  const params = { itemId: 'patch', threadId: 'thread', turnId: 'turn', ...asked }
  const answer = answerRequest({ method: 'item/fileChange/requestApproval', params }, ports).then(
    (given) => (answered = given),
  )
  await expect.poll(async () => answered ?? (await desk.pending()).interactions.length).not.toBe(0)
  const decision = answered ?? 'a person is asked'
  abort.abort()
  await answer
  return decision
}

function change(path: string, movePath?: string): FileChange {
  return { path, kind: { type: 'update', ...(movePath !== undefined && { move_path: movePath }) }, diff: '' }
}

it('accepts a patch if all its files are inside the folder, before and after it moves them', async () => {
  const accepted = { decision: 'accept' }
  expect(await decisionAbout([change(join(cwd, 'a.ts'))])).toEqual(accepted)
  expect(await decisionAbout([change(join(cwd, 'a.ts'), join(cwd, 'b.ts'))])).toEqual(accepted)
})

it.each([
  ['changes a file outside', [change(join(cwd, 'a.ts')), change('/etc/hosts')], {}],
  ['moves a file out', [change(join(cwd, 'a.ts'), '/etc/hosts')], {}],
  ['moves a file to where it would run', [change(join(cwd, 'a'), join(cwd, '.git/hooks/pre-commit'))], {}],
  ['names no file', [], {}],
  ['asks for a folder to be writable', [change(join(cwd, 'a.ts'))], { grantRoot: cwd }],
])('asks a person about a patch that %s', async (_what, changes, asked) => {
  expect(await decisionAbout(changes, asked)).toBe('a person is asked')
})
