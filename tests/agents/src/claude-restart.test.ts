import { existsSync } from 'node:fs'
import { join } from 'node:path'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createDesk } from '@askback/core'
import type { PermissionMode } from '@askback/protocol'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeSession, me } from './claude-session.js'
import { eventually } from './eventually.js'
import { removeStored } from './folders.js'
import { programOf, programsOf } from './processes.js'
import type { Block, Reply, Scenario } from './scenario.js'

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint({ when: 'say hello', steps: [{ say: [{ text: 'Hello.' }] }] })
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

const question = (text: string) => ({
  tool: 'AskUserQuestion',
  input: {
    questions: [
      {
        header: 'Pick',
        question: text,
        options: [
          { label: 'Red', description: 'r' },
          { label: 'Blue', description: 'b' },
        ],
        multiSelect: false,
      },
    ],
  },
})
const run = (command: string): Block => ({ tool: 'Bash', input: { command, description: 'Runs' } })
const blue = { answers: [{ selected: ['Blue'] }] }
const approve = { decision: 'approve' }

/** A session with pending requests. `then`: the scenarios for what the model receives later. */
async function pendingSession(
  when: string,
  say: Block[],
  then: Scenario[],
  mode?: PermissionMode,
  steps: Reply[] = [{ say }],
) {
  endpoint.add({ when, steps, find: { PLAN: /(\/\S+\/plans\/\S+?\.md)/ } }, ...then)
  const first = await claudeSession({ url: endpoint.url, ...(mode && { mode }) })
  await first.say(when)
  const items = await first.pending(say.filter((block) => 'tool' in block).length)
  return { first, items }
}

describe.concurrent('after a restart of the gateway', () => {
  it('the card is still there, and the model gets its answer', async () => {
    const expects = ['"Which colour, after all?" = "Blue"']
    const { first, items } = await pendingSession(
      'a colour',
      [question('Which colour, after all?')],
      [{ when: 'Which colour, after all?', steps: [{ expects, say: [{ text: 'Blue it is.' }] }] }],
    )
    await first.close()
    await eventually(() => expect(programsOf(first.home)).toEqual([]))
    const second = await claudeSession({ url: endpoint.url, before: first })
    expect((await second.pending())[0]!.interactionId).toBe(items[0]!.interactionId)
    expect((await second.of('error'))[0]).toMatchObject({ code: 'agent_lost' })
    await second.answer(items[0]!, blue)
    expect((await second.until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    expect((await second.of('tool_result'))[0]).toMatchObject({
      toolCallId: items[0]!.toolCallId,
      isError: false,
    })
    await second.close()
  })

  it('the model gets the answer even if Claude Code has lost the conversation', async () => {
    const expects = ['"Lost for words?" = "Blue"']
    const { first, items } = await pendingSession(
      'lose it all',
      [question('Lost for words?')],
      [{ when: 'Lost for words?', steps: [{ expects, say: [{ text: 'Blue it is.' }] }] }],
    )
    await first.close()
    await removeStored(first.home, '.claude/projects')
    const second = await claudeSession({ url: endpoint.url, before: first })
    await second.answer(items[0]!, blue)
    expect(await second.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect((await second.of('error')).at(-1)!.message).toContain('lost the earlier conversation')
    expect(await second.of('tool_result')).toMatchObject([
      { toolCallId: items[0]!.toolCallId, isError: false },
    ])
    await second.close()
  })

  it('the model gets all answers together, when the last request is settled', async () => {
    const expects = ['"One of two?" = "Blue"', '"Two of two?" = "Red"']
    const { first, items } = await pendingSession(
      'two colours',
      [question('One of two?'), question('Two of two?')],
      [{ when: 'Two of two?', steps: [{ expects, say: [{ text: 'Both.' }] }] }],
    )
    await first.close()
    const second = await claudeSession({ url: endpoint.url, before: first })
    const about = (text: string) => items.find(({ request }) => JSON.stringify(request).includes(text))!
    await second.answer(about('One of two?'), blue)
    expect(await second.of('turn_ended')).toEqual([])
    await second.answer(about('Two of two?'), { answers: [{ selected: ['Red'] }] })
    await second.until('turn_ended')
    await second.close()
  })

  it('an approval allows one call with exactly the same input', async () => {
    const call = run('touch granted && echo ran once')
    const { first, items } = await pendingSession(
      'grant it',
      [call],
      [
        {
          when: 'touch granted',
          steps: [
            { expects: ['approved Bash', 'has not run'], say: [call] },
            { expects: ['ran once'], say: [call] },
            { expects: ['denied'], say: [{ text: 'Good.' }] },
          ],
        },
      ],
    )
    await first.close()
    const second = await claudeSession({ url: endpoint.url, before: first })
    await second.answer(items[0]!, approve)
    // A second call with the same input needs a new approval.
    const [again] = await second.pending()
    expect(again!.interactionId).not.toBe(items[0]!.interactionId)
    await second.answer(again!, { decision: 'deny' })
    await second.until('turn_ended')
    const delivered = await second.of('interaction_delivered')
    expect(delivered.filter((one) => one.interactionId === items[0]!.interactionId)).toHaveLength(1)
    await second.close()
  })

  it('a call that differs from the approved one opens a new card that shows both', async () => {
    const { first, items } = await pendingSession(
      'differ',
      [run('touch agreed')],
      [
        {
          when: 'touch agreed',
          steps: [{ say: [run('touch sneaky')] }, { expects: ['denied'], say: [{ text: 'Caught.' }] }],
        },
      ],
    )
    await first.close()
    const second = await claudeSession({ url: endpoint.url, before: first })
    await second.answer(items[0]!, approve)
    const [card] = await second.pending()
    expect(card).toMatchObject({ notes: ['not_as_approved'] })
    expect(card!.request).not.toHaveProperty('reason')
    expect(card!.request).toMatchObject({
      preview: { approved: { command: 'touch agreed' }, asked: { command: 'touch sneaky' } },
    })
    await second.answer(card!, { decision: 'deny' })
    await second.until('turn_ended')
    expect(existsSync(join(first.cwd, 'agreed'))).toBe(false)
    await second.close()
  })

  it('[L10] a call whose approval was claimed is in doubt: the model learns it, and the call does not run', async () => {
    const { first, items } = await pendingSession(
      'doubt',
      [run('touch doubtful')],
      [
        {
          when: 'touch doubtful',
          steps: [{ expects: ['may have run already'], say: [{ text: 'I will look.' }] }],
        },
      ],
    )
    await first.close()
    const between = createDesk({ store: first.store })
    await between.as(me).respond({ interactionId: items[0]!.interactionId, answer: approve })
    await between.wait(items[0]!.interactionId)
    between.close()
    const second = await claudeSession({ url: endpoint.url, before: first })
    await second.until('turn_ended')
    expect(existsSync(join(first.cwd, 'doubtful'))).toBe(false)
    await second.close()
  })

  it('the model gets an answer that was given while the gateway was down', async () => {
    const { first, items } = await pendingSession(
      'meanwhile',
      [question('Given meanwhile?')],
      [{ when: 'Given meanwhile?', steps: [{ expects: ['"Blue"'], say: [{ text: 'Blue.' }] }] }],
    )
    await first.close()
    const between = createDesk({ store: first.store })
    await between.as(me).respond({ interactionId: items[0]!.interactionId, answer: blue })
    between.close()
    const second = await claudeSession({ url: endpoint.url, before: first })
    expect((await second.until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    await second.close()
  })

  it.each(['clean_edit', 'edit', 'adjust'])(
    'a plan that was decided in between continues with the decision %s',
    async (decision) => {
      const when = `plan cut by ${decision}`
      const plan = `# Plan ${when}`
      const write = { tool: 'Write', input: { file_path: '{{PLAN}}', content: plan } }
      const exit = { tool: 'ExitPlanMode', input: {} }
      const marks = {
        clean_edit: 'approved this plan',
        edit: 'no longer in plan mode',
        adjust: `Look twice ${when}`,
      }
      const expects = [marks[decision as keyof typeof marks]]
      const { first, items } = await pendingSession(
        when,
        [exit],
        [
          {
            when: decision === 'adjust' ? `Look twice ${when}` : plan,
            steps: [{ expects, say: [{ text: 'On it.' }] }],
          },
        ],
        'plan',
        [{ say: [write] }, { say: [exit] }],
      )
      await first.close()
      // The settlement is claimed, but the process ended before it could use it.
      const between = createDesk({ store: first.store })
      const feedback = decision === 'adjust' ? { feedback: `Look twice ${when}` } : {}
      await between
        .as(me)
        .respond({ interactionId: items[0]!.interactionId, answer: { decision, ...feedback } })
      await between.wait(items[0]!.interactionId)
      between.close()
      const second = await claudeSession({ url: endpoint.url, before: first })
      await second.until('turn_ended')
      const sessions = new Set((await second.of('agent_session')).map(({ agentSessionId }) => agentSessionId))
      expect(sessions.size).toBe(decision === 'clean_edit' ? 2 : 1)
      await second.close()
    },
  )
})

describe.concurrent('a program that is killed with a pending request', () => {
  it('leaves the card, is reported as lost, and is started again by the answer', async () => {
    const { first, items } = await pendingSession(
      'kill me',
      [question('Still there?')],
      [{ when: 'Still there?', steps: [{ expects: ['"Blue"'], say: [{ text: 'Back.' }] }] }],
    )
    process.kill(programOf(first.home), 'SIGKILL')
    expect((await first.until('error'))[0]).toMatchObject({ code: 'agent_lost', fatal: false })
    expect(await first.pending()).toHaveLength(1)
    await first.answer(items[0]!, blue)
    expect((await first.until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    await first.close()
  })

  it.each(['interrupt', 'clear'] as const)('sends its model no request after %s', async (how) => {
    const { first } = await pendingSession(`lost, then ${how}`, [question(`Lost, then ${how}?`)], [])
    process.kill(programOf(first.home), 'SIGKILL')
    await first.until('error')
    const before = endpoint.requests.length
    await first.host.as(me)[how](first.sessionId)
    expect((await first.until('turn_ended'))[0]).toMatchObject({ reason: 'interrupted' })
    await eventually(() => expect(programsOf(first.home)).toEqual([]))
    expect(endpoint.of(`lost, then ${how}`)).toHaveLength(1)
    await first.say('say hello')
    expect((await first.until('turn_ended', 2))[1]).toMatchObject({ reason: 'done' })
    const asked = endpoint.requests.slice(before).filter(({ received }) => received.all.join().includes(how))
    expect(asked).toEqual([])
    await first.close()
  })

  it('is not started by an interrupt while the second of two answers is missing', async () => {
    const when = 'lost with two'
    endpoint.add({ when, steps: [{ say: [question('Lost one?'), question('Lost two?')] }] })
    let started = 0
    const query: typeof sdk.query = (input) => {
      started++
      return sdk.query(input)
    }
    const session = await claudeSession({
      url: endpoint.url,
      agent: { sdk: () => Promise.resolve({ query }) },
    })
    await session.say(when)
    const [first] = await session.pending(2)
    process.kill(programOf(session.home), 'SIGKILL')
    await session.until('error')
    await session.answer(first!, blue)
    await session.host.as(me).interrupt(session.sessionId)
    expect((await session.until('turn_ended'))[0]).toMatchObject({ reason: 'interrupted' })
    expect(started).toBe(1)
    expect(endpoint.of(when)).toHaveLength(1)
    await session.close()
  })

  it('accepts a message, and gets the answer later', async () => {
    const { first, items } = await pendingSession(
      'kill and talk',
      [question('And now?')],
      [{ when: 'And now?', steps: [{ expects: ['"Blue"'], say: [{ text: 'Back.' }] }] }],
    )
    process.kill(programOf(first.home), 'SIGKILL')
    await first.until('error')
    await first.say('say hello')
    await first.until('text')
    expect(await first.of('turn_ended')).toEqual([])
    await first.answer(items[0]!, blue)
    await first.until('turn_ended')
    await first.close()
  })
})
