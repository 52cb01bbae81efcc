import { digestOf } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { ada, bob, testDesk, waiting } from './test-desk.test.helper.js'

const plan = { plan: '1. Look. 2. Do.', planFilePath: '/work/plan.md' }
const planning = { session: { agent: 'demo', cwd: '/work', permissionMode: 'plan' } } as const

describe('a plan review', () => {
  it.each([
    ['clean_edit', 'acceptEdits'],
    ['edit', 'acceptEdits'],
    ['default', 'default'],
  ])('%s approves, and the same append sets the session to mode %s', async (decision, permissionMode) => {
    const { desk, store, open } = await testDesk(planning)
    const { interactionId } = await open('plan_review', plan)
    const { settlement } = await waiting(desk, interactionId)
    await desk.as(ada).respond({ interactionId, answer: { decision } })
    expect(await settlement).toMatchObject({ settlement: 'approved', answer: { decision }, input: plan })
    const last = (await store.changes({ limit: 100 })).at(-1)!.events
    expect(last[0]).toMatchObject({ type: 'interaction_response', settlement: 'approved' })
    expect(last.at(-1)).toMatchObject({ type: 'session_status', permissionMode })
    expect((await desk.snapshot('s')).session.permissionMode).toBe(permissionMode)
  })

  it('adjust denies with the feedback as message, and the session stays in plan mode', async () => {
    const { desk, open, types, seq } = await testDesk(planning)
    const { interactionId } = await open('plan_review', plan)
    const { settlement } = await waiting(desk, interactionId)
    const before = await seq()
    await desk.as(ada).respond({ interactionId, answer: { decision: 'adjust', feedback: 'Look twice.' } })
    expect(await settlement).toMatchObject({ settlement: 'denied', message: 'Look twice.' })
    expect(await types(before)).toEqual([
      'interaction_response',
      'interaction_pending',
      'interaction_delivered',
    ])
    expect((await desk.snapshot('s')).session.permissionMode).toBe('plan')
  })

  it.each([undefined, '', '  '])('adjust needs feedback: %j is refused', async (feedback) => {
    const { desk, open } = await testDesk(planning)
    const { interactionId } = await open('plan_review', plan)
    const answer = { decision: 'adjust', feedback }
    await expect(desk.as(ada).respond({ interactionId, answer })).rejects.toMatchObject({
      code: 'invalid_answer',
    })
  })

  it('can be adjusted twice, and then approved', async () => {
    const { desk, open } = await testDesk(planning)
    const own = { toolCallId: 't', attach: true }
    const ids = new Set<string>()
    for (const [version, answer] of [
      ['One.', { decision: 'adjust', feedback: 'More.' }],
      ['Two.', { decision: 'adjust', feedback: 'Less.' }],
      ['Three.', { decision: 'edit' }],
    ] as const) {
      const { interactionId } = await open('plan_review', { plan: version }, own)
      ids.add(interactionId)
      const { settlement } = await waiting(desk, interactionId)
      await desk.as(ada).respond({ interactionId, answer })
      const expected = answer.decision === 'adjust' ? 'denied' : 'approved'
      expect(await settlement).toMatchObject({ settlement: expected })
    }
    expect(ids.size).toBe(3)
    expect((await desk.snapshot('s')).session.permissionMode).toBe('acceptEdits')
  })

  it('takes its feedback from a message, in one step or in two', async () => {
    const { desk, open } = await testDesk(planning)
    const { interactionId } = await open('plan_review', plan)
    const { settlement } = await waiting(desk, interactionId)
    const sent = await desk.as(bob).message({ sessionId: 's', text: 'Please look twice.' })
    expect(sent).toMatchObject({ routed: 'interaction', interactionId })
    expect(await settlement).toMatchObject({
      settlement: 'denied',
      message: 'Please look twice.',
      answer: { decision: 'adjust', feedback: 'Please look twice.' },
      ...bob,
    })
  })

  it('[L12] returns the plan as the person changed it, with its own digest', async () => {
    const { desk, open } = await testDesk(planning)
    const { interactionId, digest } = await open('plan_review', plan)
    const { settlement } = await waiting(desk, interactionId)
    const answer = { decision: 'edit', updatedPlan: '1. Do.' }
    const { interaction } = await desk.as(ada).respond({ interactionId, answer })
    const updated = { ...plan, plan: '1. Do.' }
    expect(interaction).toMatchObject({ digest, updatedDigest: digestOf('plan_review', updated) })
    expect(await settlement).toMatchObject({ settlement: 'approved', input: updated, answer })
  })

  it('a timeout and a cancel leave the mode as it is', async () => {
    const { desk, clock, open } = await testDesk(planning)
    await open('plan_review', plan, { timeoutMs: 10 })
    const { interactionId } = await open('plan_review', plan)
    clock.advance(10)
    await desk.as(ada).cancel({ interactionId })
    expect((await desk.snapshot('s')).session.permissionMode).toBe('plan')
  })
})
