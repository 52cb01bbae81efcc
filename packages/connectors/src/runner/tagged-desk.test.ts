import { createDesk, createHost, memoryStore } from '@askback/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runCommand } from './commands.js'
import { connectorDesk } from './connector-desk.js'
import { testConnector, type TestConnector } from './test-connector.test.helper.js'

const acme = { tenant: 'acme' }
const globex = { tenant: 'globex' }
const by = { id: 'ada', name: 'Ada' }

/** A connector of one tenant. Each request has the name of its session in its text. */
async function tenants() {
  const test = await testConnector({ sessions: { tags: acme } })
  await test.desk.createSession({ id: 'ours', title: 'Ours', tags: { ...acme, more: 'x' } })
  await test.desk.createSession({ id: 'theirs', title: 'Theirs', tags: globex })
  const ask = async (sessionId: string) =>
    (
      await test.desk.open({
        sessionId,
        kind: 'approval',
        request: { input: { command: `in ${sessionId}` } },
      })
    ).interaction
  return { ...test, ask }
}

const everything = async ({ surface }: Pick<TestConnector, 'surface'>) => (await surface.screen()).everything
const openCards = async ({ surface }: Pick<TestConnector, 'surface'>) => (await surface.screen()).cards.length

describe('a connector for the sessions with a tag', () => {
  it('shows what they ask, and nothing of others, with or without tags', async () => {
    const test = await tenants()
    await test.ask('theirs')
    await test.ask('s')
    await test.ask('ours')
    await expect.poll(() => everything(test)).toContain('in ours')
    expect(await openCards(test)).toBe(1)
    expect(await everything(test)).not.toMatch(/theirs|in s/i)
  })

  it('needs all of its tags', async () => {
    const test = await testConnector({ sessions: { tags: { ...acme, team: 'a' } } })
    const ask = (sessionId: string) =>
      test.desk.open({ sessionId, kind: 'approval', request: { input: { command: `in ${sessionId}` } } })
    await test.desk.createSession({ id: 'half', tags: acme })
    await test.desk.createSession({ id: 'other', tags: { ...acme, team: 'b' } })
    await test.desk.createSession({ id: 'whole', tags: { ...acme, team: 'a' } })
    for (const id of ['half', 'other', 'whole']) await ask(id)
    await expect.poll(() => everything(test)).toContain('in whole')
    expect(await openCards(test)).toBe(1)
  })

  it('shows nothing of others after a restart or in another place, either', async () => {
    const test = await tenants()
    await test.ask('theirs')
    await test.running.stop()
    await test.ask('theirs')
    await test.ask('ours')
    const again = test.run()
    await again.ready
    await again.context.setPlace('there', { sessions: ['theirs', 'ours'], current: 'theirs' })
    await test.desk.report({
      sessionId: 'theirs',
      events: [{ type: 'text', blockId: 'b', text: 'words of theirs' }],
    })
    await test.ask('ours')
    await expect.poll(() => openCards(test)).toBe(4)
    expect(await everything(test)).not.toMatch(/theirs/i)
  })

  it('closes the cards of a session that loses the tag, does not say how they end, and takes no tap', async () => {
    const test = await tenants()
    const { interactionId } = await test.ask('ours')
    await expect.poll(() => openCards(test)).toBe(1)
    const { cardId } = test.surface.messages[0]!.card!
    await test.desk.setTags('ours', globex)
    const late = await test.running.context.tap({ place: 'here', cardId, control: 'approve', by })
    expect(late.ok).toBe(false)
    await expect.poll(() => openCards(test)).toBe(0)
    expect(await everything(test)).toContain('This is no longer shown here.')
    await test.desk.as({ by, via: 'direct' }).cancel({ sessionId: 'ours', interactionId })
    await test.desk.createSession({ id: 'next', tags: acme })
    await test.ask('next')
    await expect.poll(() => everything(test)).toContain('in next')
    expect(await everything(test)).not.toMatch(/cancelled/i)
  })

  it('shows what is pending in a session that gets the tag', async () => {
    const test = await tenants()
    await test.ask('theirs')
    await test.desk.setTags('theirs', acme)
    await expect.poll(() => everything(test)).toContain('in theirs')
  })

  it('lists, chooses, starts and changes such sessions only', async () => {
    const test = await tenants()
    const { context } = test.running
    const say = (text: string) => runCommand(context, { place: 'here', text, by })
    expect(await say('/sessions')).toBe('1. Ours (idle)\nChoose one with /sessions and its number.')
    expect(await say('/sessions 2')).toContain('There is no session 2.')
    const person = context.desk.as({ by, via: 'direct' })
    const created = await person.createSession({ agent: null, tags: { ...globex, more: 'y' } })
    expect(created.tags).toEqual({ ...acme, more: 'y' })
    await context.setPlace('here', { sessions: 'all', current: 'theirs' })
    for (const command of ['/mode plan', '/stop', '/clear', '/follow this'])
      expect(await say(command)).toContain('No session is chosen.')
    const { interactionId, digest } = await test.ask('theirs')
    const target = { sessionId: 'theirs', interactionId }
    const refused = [
      person.respond({ ...target, answer: { decision: 'approve' }, digest }),
      person.progress({ ...target, answers: [] }),
      person.message({ sessionId: 'theirs', text: 'hello' }),
      person.interrupt('theirs', {}),
      person.clear('theirs', {}),
      person.setPermissionMode('theirs', 'plan', {}),
      context.desk.interaction('theirs', interactionId),
    ]
    for (const call of refused) await expect(call).rejects.toMatchObject({ code: 'not_found' })
    expect(await context.desk.session('theirs')).toBeNull()
    expect(await test.desk.interaction('theirs', interactionId)).toMatchObject({ status: 'pending' })
  })
})

it.each([undefined, {}, { sessions: {} }, { sessions: { tags: {} } }, { sessions: 'ours' }])(
  'the sessions of a connector must be said: %j is refused',
  async (options) => {
    const store = memoryStore()
    const host = createHost({ desk: createDesk({ store }), onError: () => undefined })
    onTestFinished(() => host.close())
    expect(() => connectorDesk(host, store, options as { sessions: 'all' })).toThrow("{ sessions: 'all' }")
  },
)
