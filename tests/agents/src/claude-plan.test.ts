import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeSession, me } from './claude-session.js'
import type { Scenario, Step } from './scenario.js'

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint()
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

const find = { PLAN: /(\/\S+\/plans\/\S+?\.md)/ }
const exit = { tool: 'ExitPlanMode', input: {} }

/** A model that writes its plan down and hands it in. */
function planner(when: string, ...then: Step[]): Scenario {
  const write = { tool: 'Write', input: { file_path: '{{PLAN}}', content: `# Plan of ${when}\n1. Look` } }
  return { when, find, steps: [{ say: [write] }, { say: [exit] }, ...then] }
}

async function planning(...scenarios: [Scenario, ...Scenario[]]) {
  endpoint.add(...scenarios)
  const session = await claudeSession({ url: endpoint.url, mode: 'plan' })
  await session.say(scenarios[0].when)
  return session
}

describe.concurrent('a plan', () => {
  it('is reviewed as it was written, and edit goes on in the same context', async () => {
    const told = ['approved', '# Better plan']
    const session = await planning(planner('keep context', { told, say: [{ text: 'On it.' }] }))
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'plan_review', request: { plan: '# Plan of keep context\n1. Look' } })
    await session.answer(item!, { decision: 'edit', updatedPlan: '# Better plan' })
    await session.until('turn_ended')
    expect(await session.mode()).toBe('acceptEdits')
    expect(await session.of('agent_session')).toHaveLength(1)
    await session.close()
  })

  it('adjusts with the feedback, twice, and stays in plan mode (lesson 50)', async () => {
    const session = await planning(
      planner(
        'adjust it',
        { told: ['Look twice'], say: [exit] },
        { told: ['Look thrice'], say: [exit] },
        { say: [{ text: 'On it.' }] },
      ),
    )
    for (const [round, feedback] of ['Look twice', 'Look thrice'].entries()) {
      await session.until('interaction_request', round + 1)
      const [item] = await session.pending()
      await session.answer(item!, { decision: 'adjust', feedback })
    }
    expect(await session.mode()).toBe('plan')
    await session.until('interaction_request', 3)
    const [last] = await session.pending()
    await session.answer(last!, { decision: 'edit' })
    await session.until('turn_ended')
    await session.close()
  })

  it.each([
    ['clean_edit', 'acceptEdits'],
    ['default', 'default'],
  ])('%s starts a new conversation that carries the plan, in mode %s', async (decision, mode) => {
    const when = `fresh by ${decision}`
    const session = await planning(planner(when), {
      when: `Plan of ${when}`,
      steps: [{ told: ['approved this plan', `# Plan of ${when}`], say: [{ text: 'Fresh and ready.' }] }],
    })
    const [item] = await session.pending()
    await session.answer(item!, { decision })
    await session.until('turn_ended')
    expect(await session.mode()).toBe(mode)
    const ids = (await session.of('agent_session')).map(({ agentSessionId }) => agentSessionId)
    expect(new Set(ids).size).toBe(2)
    expect(
      (await session.of('tool_result')).find((one) => one.toolCallId === item!.toolCallId),
    ).toMatchObject({
      isError: false,
    })
    expect((await session.of('turn_ended')).map(({ reason }) => reason)).toEqual(['done'])
    // A conversation of its own: nothing of the old one is in it.
    const fresh = endpoint.of(`Plan of ${when}`)
    expect(JSON.stringify(fresh[0]!.messages)).not.toContain('"tool_use"')
    expect(await session.of('context_cleared')).toHaveLength(1)
    await session.close()
  })

  it('goes on afresh as the person has edited it', async () => {
    const session = await planning(planner('fresh and edited'), {
      when: 'A plan by hand',
      steps: [{ told: ['A plan by hand'], notTold: ['Plan of'], say: [{ text: 'Gladly.' }] }],
    })
    const [item] = await session.pending()
    await session.answer(item!, { decision: 'clean_edit', updatedPlan: '# A plan by hand' })
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    await session.close()
  })

  it('that is to go on afresh never goes back to the old context, even if it is interrupted', async () => {
    const when = 'fresh but interrupted'
    const session = await planning(
      planner(when),
      { when: `Plan of ${when}`, steps: [{ say: [], ends: 'never' }] },
      { when: 'what now', steps: [{ notTold: [when], say: [{ text: 'Something new.' }] }] },
    )
    const cleared = session.until('context_cleared')
    const [item] = await session.pending()
    await session.answer(item!, { decision: 'clean_edit' })
    await cleared
    await session.host.interrupt(session.sessionId, me)
    await session.say('what now')
    expect((await session.until('turn_ended', 2)).map(({ reason }) => reason)).toEqual([
      'interrupted',
      'done',
    ])
    const requests = endpoint.of('what now')
    expect(JSON.stringify(requests[0]!.messages)).not.toContain('"tool_use"')
    await session.close()
  })

  it('that nobody wrote down is an error, and the session goes on', async () => {
    const session = await planning({
      when: 'no plan at all',
      steps: [{ say: [exit] }, { told: ['no plan to review'], say: [{ text: 'Sorry.' }] }],
    })
    await session.until('turn_ended')
    expect((await session.of('error'))[0]).toMatchObject({ code: 'plan_missing', fatal: false })
    expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    await session.close()
  })
})
