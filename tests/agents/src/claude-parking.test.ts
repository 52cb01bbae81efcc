import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { CanUseTool, ClaudeSdk } from '@askback/agents/claude'
import { fakeClock } from '@askback/core/testing'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeSession } from './claude-session.js'
import { eventually } from './eventually.js'
import { programsOf } from './processes.js'

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint()
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

const find = { PLAN: /(\/\S+\/plans\/\S+?\.md)/ }
const TWO_MINUTES = 2 * 60_000

/** An agent whose clock the test advances, and which counts the calls of `canUseTool`. */
function agentWithFakeClock() {
  const clock = fakeClock()
  let asked = 0
  const query: ClaudeSdk['query'] = ({ prompt, options }) => {
    const canUseTool: CanUseTool = (...call) => {
      asked++
      return options!.canUseTool!(...call)
    }
    return sdk.query({ prompt, options: { ...options, canUseTool } })
  }
  return {
    clock,
    asked: () => asked,
    agent: { clock, sdk: () => Promise.resolve({ query }) },
  }
}

const ask = (question: string) => ({
  tool: 'AskUserQuestion',
  input: {
    questions: [
      {
        header: 'Pick',
        question,
        options: [
          { label: 'Red', description: 'r' },
          { label: 'Blue', description: 'b' },
        ],
        multiSelect: false,
      },
    ],
  },
})
const blue = { answers: [{ selected: ['Blue'] }] }

/** Waits until the agent's program has ended. */
async function waitUntilParked(home: string): Promise<void> {
  await eventually(() => expect(programsOf(home)).toEqual([]))
}

describe.concurrent('a question that stays pending for long', () => {
  it('ends the program, and its answer resumes the same call', async () => {
    const expects = ['"Parked?"="Blue"']
    endpoint.add({
      when: 'park me',
      steps: [{ say: [ask('Parked?')] }, { expects, say: [{ text: 'Blue.' }] }],
    })
    const { clock, agent } = agentWithFakeClock()
    const session = await claudeSession({ url: endpoint.url, agent })
    await session.say('park me')
    const [item] = await session.pending()
    clock.advance(TWO_MINUTES - 1)
    expect(clock.armed).toBe(1)
    clock.advance(1)
    await waitUntilParked(session.home)
    expect((await session.host.snapshot(session.sessionId)).session.status).toBe('waiting')
    await session.answer(item!, blue)
    expect((await session.until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    expect(await session.of('error')).toEqual([])
    expect(await session.of('interaction_request')).toHaveLength(1)
    expect((await session.of('tool_result'))[0]).toMatchObject({
      toolCallId: item!.toolCallId,
      isError: false,
    })
    await session.close()
  })

  it('can be resumed by another gateway', async () => {
    const expects = ['"Parked and restarted?"="Blue"']
    endpoint.add({
      when: 'park and restart',
      steps: [{ say: [ask('Parked and restarted?')] }, { expects, say: [{ text: 'Blue.' }] }],
    })
    const { clock, agent } = agentWithFakeClock()
    const first = await claudeSession({ url: endpoint.url, agent })
    await first.say('park and restart')
    const [item] = await first.pending()
    clock.advance(TWO_MINUTES)
    await waitUntilParked(first.home)
    await first.close()
    const second = await claudeSession({ url: endpoint.url, before: first })
    await second.answer(item!, blue)
    await second.until('turn_ended')
    expect((await second.of('tool_result'))[0]).toMatchObject({ isError: false })
    await second.close()
  })

  it('does not end the program while another call is open', async () => {
    endpoint.add({
      when: 'two at once',
      steps: [
        { say: [ask('First of two?'), ask('Second of two?')] },
        { expects: ['"First of two?"="Blue"', '"Second of two?"="Blue"'], say: [{ text: 'Both.' }] },
      ],
    })
    const { clock, agent, asked } = agentWithFakeClock()
    const session = await claudeSession({ url: endpoint.url, agent })
    await session.say('two at once')
    const items = await session.pending(2)
    clock.advance(TWO_MINUTES)
    // Then Claude Code asks about each call itself, and waits.
    await eventually(() => expect(asked()).toBe(2))
    for (const item of items) await session.answer(item, blue)
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect(await session.of('error')).toEqual([])
    await session.close()
  })

  it('does not end the program while a task runs in the background', async () => {
    const command = 'tail -f /dev/null'
    const background = { tool: 'Bash', input: { command, description: 'Runs', run_in_background: true } }
    const expects = ['"With company?"="Blue"']
    endpoint.add({
      when: 'not alone',
      steps: [{ say: [background] }, { say: [ask('With company?')] }, { expects, say: [{ text: 'Blue.' }] }],
    })
    const { clock, agent, asked } = agentWithFakeClock()
    const session = await claudeSession({ url: endpoint.url, agent, mode: 'bypassPermissions' })
    await session.say('not alone')
    const [item] = await session.pending()
    const tails = () => programsOf(session.home, 'tail')
    await eventually(() => expect(tails()).toHaveLength(1))
    const pids = tails()
    clock.advance(TWO_MINUTES)
    await eventually(() => expect(asked()).toBe(2))
    expect(tails()).toEqual(pids)
    await session.answer(item!, blue)
    expect((await session.until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    await session.close()
  })

  it('is never parked if parking is off', async () => {
    endpoint.add({ when: 'stay here', steps: [{ say: [ask('Here?')] }] })
    const { clock, agent, asked } = agentWithFakeClock()
    const session = await claudeSession({ url: endpoint.url, agent: { ...agent, parkAfterMs: null } })
    await session.say('stay here')
    await session.pending()
    expect(asked()).toBe(1)
    expect(clock.armed).toBe(0)
    await session.close()
  })

  it.each(['edit', 'clean_edit'])('may be a plan, which continues with the decision %s', async (decision) => {
    const when = `plan parked by ${decision}`
    const plan = `# Plan ${when}`
    const write = { tool: 'Write', input: { file_path: '{{PLAN}}', content: plan } }
    endpoint.add(
      {
        when,
        find,
        steps: [
          { say: [write] },
          { say: [{ tool: 'ExitPlanMode', input: {} }] },
          { expects: ['approved'], say: [{ text: 'On it.' }] },
        ],
      },
      { when: plan, steps: [{ expects: ['approved this plan'], say: [{ text: 'Afresh.' }] }] },
    )
    const { clock, agent } = agentWithFakeClock()
    const session = await claudeSession({ url: endpoint.url, mode: 'plan', agent })
    await session.say(when)
    const [item] = await session.pending()
    clock.advance(TWO_MINUTES)
    await waitUntilParked(session.home)
    await session.answer(item!, { decision })
    expect((await session.until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    const texts = (await session.of('text')).map(({ text }) => text)
    expect(texts).toEqual([decision === 'edit' ? 'On it.' : 'Afresh.'])
    await session.close()
  })
})
