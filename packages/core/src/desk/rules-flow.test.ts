import { canonicalJson, digestOf, sha256Hex, type CreateSessionBody, type Json } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { ada, listFiles, testDesk, yes, type TestDesk } from './test-desk.test.helper.js'

const bash = { toolName: 'Bash' }
const here = { agent: 'demo', cwd: '/work' }

async function withRule(scope: 'session' | 'always', session: CreateSessionBody = here): Promise<TestDesk> {
  const test = await testDesk({ session })
  const { interactionId } = await test.open('approval', listFiles, bash)
  await test.desk.as(ada).respond({ interactionId, answer: { ...yes, scope } })
  return test
}

async function asksIn({ desk }: TestDesk, session: CreateSessionBody): Promise<string> {
  const { session: other } = await desk.createSession(session)
  const { interaction } = await desk.open({
    sessionId: other.id,
    kind: 'approval',
    request: listFiles,
    ...bash,
  })
  return interaction.status
}

describe('an approval for the session', () => {
  it('allows exactly this tool with exactly this input from then on; each use is logged as a request and response', async () => {
    const test = await withRule('session')
    const before = await test.seq()
    const again = await test.open('approval', { ...listFiles, title: 'Once more' }, bash)
    expect(again).toMatchObject({ settlement: 'approved', via: 'policy' })
    expect(again).not.toHaveProperty('by')
    expect(await test.types(before)).toEqual([
      'interaction_pending',
      'interaction_request',
      'interaction_response',
      'interaction_pending',
    ])
  })

  it.each([
    ['Bash', { command: 'ls && rm -rf x' }],
    ['Bash', { command: 'ls; curl evil' }],
    ['Bash', { command: 'ls ' }],
    ['Bash', { command: 'ls', timeout: 1 }],
    ['bash', { command: 'ls' }],
  ])('does not allow %s with %j', async (toolName, input) => {
    const { open } = await withRule('session')
    expect(await open('approval', { input }, { toolName })).toMatchObject({ status: 'pending' })
  })

  it('allows a shell command with any description, but with no other changed field', async () => {
    const { desk, open } = await testDesk({ session: here })
    const worded = (description: string, more = {}) => ({
      input: { command: 'ls', description, ...more },
    })
    const { interactionId } = await open('approval', worded('List files'), bash)
    await desk.as(ada).respond({ interactionId, answer: { ...yes, scope: 'session' } })
    expect(await open('approval', worded('Look around'), bash)).toMatchObject({ via: 'policy' })
    expect(await open('approval', listFiles, bash)).toMatchObject({ via: 'policy' })
    expect(await open('approval', worded('List files', { timeout: 5 }), bash)).toMatchObject({
      status: 'pending',
    })
    expect(await open('approval', { input: { command: 'ls', description: { a: 1 } } }, bash)).toMatchObject({
      status: 'pending',
    })
    expect(await desk.rules()).toMatchObject([{ input: { command: 'ls' } }])
  })

  it.each<[Json, Json]>([
    [{ description: 'ls' }, {}],
    [{ description: 'ls' }, { description: 'rm -rf /' }],
    [
      { command: '', description: 'ls' },
      { command: '', description: 'rm -rf /' },
    ],
    [
      { script: 'run', description: 'ls' },
      { script: 'run', description: 'rm -rf /' },
    ],
  ])('compares a description that has no command: %j does not allow %j', async (one, other) => {
    const { desk, open } = await testDesk({ session: here })
    const { interactionId } = await open('approval', { input: one }, bash)
    await desk.as(ada).respond({ interactionId, answer: { ...yes, scope: 'session' } })
    expect(await open('approval', { input: other }, bash)).toMatchObject({ status: 'pending' })
    expect(await open('approval', { input: one }, bash)).toMatchObject({ via: 'policy' })
  })

  it('compares the description of every other tool', async () => {
    const { desk, open } = await testDesk({ session: here })
    const issue = (description: string) => ({ input: { title: 'Bug', description } })
    const { interactionId } = await open('approval', issue('It fails'), { toolName: 'create_issue' })
    await desk.as(ada).respond({ interactionId, answer: { ...yes, scope: 'session' } })
    expect(await open('approval', issue('Other'), { toolName: 'create_issue' })).toMatchObject({
      status: 'pending',
    })
  })

  it('counts only in its session', async () => {
    expect(await asksIn(await withRule('session'), here)).toBe('pending')
  })

  it('needs no folder', async () => {
    const { open } = await withRule('session', {})
    expect(await open('approval', listFiles, bash)).toMatchObject({ settlement: 'approved' })
  })
})

describe('an approval for always', () => {
  it('counts in every session of that agent in that folder', async () => {
    expect(await asksIn(await withRule('always'), here)).toBe('settled')
  })

  it.each<[string, CreateSessionBody]>([
    ['another folder', { ...here, cwd: '/work/sub' }],
    ['another agent', { ...here, agent: 'codex' }],
    ['no agent', { ...here, agent: null }],
    ['no folder', { agent: 'demo' }],
  ])('does not count for %s', async (_, session) => {
    expect(await asksIn(await withRule('always'), session)).toBe('pending')
  })

  it.each([
    ['/work', '/work/'],
    ['/work/', '/work'],
    ['/work//', '/work'],
    ['C:\\work\\', 'C:\\work'],
  ])('made in %s counts in %s: it is the same folder', async (one, other) => {
    expect(await asksIn(await withRule('always', { ...here, cwd: one }), { ...here, cwd: other })).toBe(
      'settled',
    )
  })

  it('of an outside agent counts for all outside agents', async () => {
    const outside = { agent: null, cwd: '/work' }
    expect(await asksIn(await withRule('always', outside), outside)).toBe('settled')
  })

  it('is refused in a session without a folder, and the approval stays pending', async () => {
    const { desk, open } = await testDesk({ session: { agent: 'demo' } })
    const { interactionId } = await open('approval', listFiles, bash)
    const answer = { ...yes, scope: 'always' }
    await expect(desk.as(ada).respond({ interactionId, answer })).rejects.toMatchObject({
      code: 'invalid_answer',
    })
    expect(await desk.interaction('s', interactionId)).toMatchObject({ status: 'pending' })
    expect(await desk.rules()).toEqual([])
  })

  it('outlives a restart and the session', async () => {
    const test = await withRule('always')
    const desk = test.restart()
    await desk.deleteSession('s')
    expect(await asksIn(test, here)).toBe('settled')
  })
})

describe('a rule from before descriptions and trailing slashes were left out', () => {
  it.each([
    [`rule/session/s/${digestOf('Bash', { command: 'ls', description: 'Old' })}`, here],
    [
      `rule/always/${sha256Hex(canonicalJson({ agent: 'demo', cwd: '/work/' }))}/${digestOf('Bash', { command: 'ls', description: 'Old' })}`,
      { ...here, cwd: '/work/' },
    ],
  ])('at %s still allows its call', async (key, session) => {
    const test = await testDesk({ session })
    await test.store.kv.put(key, { id: 'x' }, null)
    const asked = (description: string) =>
      test.open('approval', { input: { command: 'ls', description } }, bash)
    expect(await asked('Old')).toMatchObject({ settlement: 'approved', via: 'policy' })
    expect(await asked('New')).toMatchObject({ status: 'pending' })
  })
})

describe('a stored rule', () => {
  it('is listed with the call that it allows and the person who made it', async () => {
    const { desk, clock } = await withRule('always')
    const rule = { toolName: 'Bash', input: listFiles.input, by: ada.by, at: clock.now() }
    expect(await desk.rules()).toEqual([
      { id: expect.any(String) as string, scope: 'always', ...here, ...rule },
    ])
    const { desk: other } = await withRule('session')
    expect(await other.rules()).toMatchObject([{ scope: 'session', sessionId: 's', toolName: 'Bash' }])
  })

  it.each(['session', 'always'] as const)(
    'of scope %s can be deleted, and then a person is asked again',
    async (scope) => {
      const { desk, open } = await withRule(scope)
      const [rule] = await desk.rules()
      await desk.deleteRule(rule!.id)
      expect(await desk.rules()).toEqual([])
      expect(await open('approval', listFiles, bash)).toMatchObject({ status: 'pending' })
      await expect(desk.deleteRule(rule!.id)).rejects.toMatchObject({ code: 'not_found' })
    },
  )

  it.each(['nope', '', `session.s.${'0'.repeat(64)}`])(
    'cannot be deleted by the unknown id %j',
    async (id) => {
      const { desk } = await withRule('session')
      await expect(desk.deleteRule(id)).rejects.toMatchObject({ code: 'not_found' })
    },
  )

  it('does not approve pending interactions', async () => {
    const { desk, open } = await testDesk({ session: here })
    const one = await open('approval', listFiles, bash)
    const two = await open('approval', listFiles, bash)
    await desk.as(ada).respond({ interactionId: one.interactionId, answer: { ...yes, scope: 'session' } })
    expect(await desk.interaction('s', two.interactionId)).toMatchObject({ status: 'pending' })
  })

  it('is stored once if the same approval is given twice', async () => {
    const { desk, open } = await testDesk({ session: here })
    const ids = [await open('approval', listFiles, bash), await open('approval', listFiles, bash)]
    for (const { interactionId } of ids) {
      await desk.as(ada).respond({ interactionId, answer: { ...yes, scope: 'session' } })
    }
    expect(await desk.rules()).toHaveLength(1)
  })

  it('of a session is deleted with it', async () => {
    const { desk } = await withRule('session')
    await desk.deleteSession('s')
    expect(await desk.rules()).toEqual([])
    await desk.createSession({ ...here, id: 's' })
    const { interaction } = await desk.open({ sessionId: 's', kind: 'approval', request: listFiles, ...bash })
    expect(interaction).toMatchObject({ status: 'pending' })
  })

  it('is written in the append of the approval: both exist, or neither', async () => {
    const test = await testDesk({ session: here })
    const { interactionId } = await test.open('approval', listFiles, bash)
    const append = test.store.append.bind(test.store)
    const written: unknown[] = []
    test.store.append = (change) => {
      written.push(...(change.kv ?? []).map((write) => write.value))
      return append(change)
    }
    await test.desk.as(ada).respond({ interactionId, answer: { ...yes, scope: 'session' } })
    expect(written).toMatchObject([{ scope: 'session', toolName: 'Bash' }])
  })

  it('answers no question, and plan mode still asks about edits', async () => {
    const test = await withRule('session', { ...here, permissionMode: 'plan' })
    const edit = { ...bash, edit: 'inside' } as const
    expect(await test.open('approval', listFiles, edit)).toMatchObject({ status: 'pending' })
    expect(await test.open('approval', listFiles, bash)).toMatchObject({ settlement: 'approved' })
  })
})
