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

/** The model writes a plan and hands it in. */
function planScenario(when: string, ...then: Step[]): Scenario {
  const write = { tool: 'Write', input: { file_path: '{{PLAN}}', content: `# Plan of ${when}\n1. Look` } }
  return { when, find, steps: [{ say: [write] }, { say: [exit] }, ...then] }
}

async function startPlanning(...scenarios: [Scenario, ...Scenario[]]) {
  endpoint.add(...scenarios)
  const session = await claudeSession({ url: endpoint.url, mode: 'plan' })
  await session.say(scenarios[0].when)
  return session
}

describe.concurrent('a plan', () => {
  it('is reviewed as it was written, and the decision edit continues in the same context', async () => {
    const expects = ['approved', '# Better plan']
    const session = await startPlanning(planScenario('keep context', { expects, say: [{ text: 'On it.' }] }))
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'plan_review', request: { plan: '# Plan of keep context\n1. Look' } })
    await session.answer(item!, { decision: 'edit', updatedPlan: '# Better plan' })
    await session.until('turn_ended')
    expect(await session.mode()).toBe('acceptEdits')
    expect(await session.of('agent_session')).toHaveLength(1)
    await session.close()
  })

  it('is adjusted with the feedback, twice, and the agent stays in plan mode', async () => {
    const session = await startPlanning(
      planScenario(
        'adjust it',
        { expects: ['Look twice'], say: [exit] },
        { expects: ['Look thrice'], say: [exit] },
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
  ])('starts a new conversation with the decision %s, in the mode %s', async (decision, mode) => {
    const when = `fresh by ${decision}`
    const session = await startPlanning(planScenario(when), {
      when: `Plan of ${when}`,
      steps: [{ expects: ['approved this plan', `# Plan of ${when}`], say: [{ text: 'Fresh and ready.' }] }],
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
    // The new conversation contains nothing of the old one.
    const fresh = endpoint.of(`Plan of ${when}`)
    expect(JSON.stringify(fresh[0]!.messages)).not.toContain('"tool_use"')
    expect(await session.of('context_cleared')).toHaveLength(1)
    await session.close()
  })

  it('is carried out in a fresh context as the person has edited it', async () => {
    const session = await startPlanning(planScenario('fresh and edited'), {
      when: 'A plan by hand',
      steps: [{ expects: ['A plan by hand'], expectsNot: ['Plan of'], say: [{ text: 'Gladly.' }] }],
    })
    const [item] = await session.pending()
    await session.answer(item!, { decision: 'clean_edit', updatedPlan: '# A plan by hand' })
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    await session.close()
  })

  it('for a fresh context never returns to the old one, even if it is interrupted', async () => {
    const when = 'fresh but interrupted'
    const session = await startPlanning(
      planScenario(when),
      { when: `Plan of ${when}`, steps: [{ say: [], ends: 'never' }] },
      { when: 'what now', steps: [{ expectsNot: [when], say: [{ text: 'Something new.' }] }] },
    )
    const cleared = session.until('context_cleared')
    const [item] = await session.pending()
    await session.answer(item!, { decision: 'clean_edit' })
    await cleared
    await session.host.as(me).interrupt(session.sessionId)
    await session.say('what now')
    expect((await session.until('turn_ended', 2)).map(({ reason }) => reason)).toEqual([
      'interrupted',
      'done',
    ])
    const requests = endpoint.of('what now')
    expect(JSON.stringify(requests[0]!.messages)).not.toContain('"tool_use"')
    await session.close()
  })

  it('without text is an error, and the session continues', async () => {
    const session = await startPlanning({
      when: 'no plan at all',
      steps: [{ say: [exit] }, { expects: ['no plan to review'], say: [{ text: 'Sorry.' }] }],
    })
    await session.until('turn_ended')
    expect((await session.of('error'))[0]).toMatchObject({ code: 'plan_missing', fatal: false })
    expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    await session.close()
  })
})
