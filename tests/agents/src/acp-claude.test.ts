import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Interaction } from '@askback/protocol'
import { acpSession, type AcpSessionOptions } from './acp-session.js'
import { me } from './agent-session.js'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeEnv } from './claude-session.js'
import { killAtOnce, programsOf } from './processes.js'
import type { Scenario, Step } from './scenario.js'

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  const nothing = [{ say: [{ text: 'none' }] }]
  endpoint = await startClaudeEndpoint(
    { when: 'say hello', steps: [{ say: [{ text: 'Hello.' }] }] },
    // Requests of this version to its small model.
    { when: 'Files modified by user:', steps: nothing },
    { when: 'Command: touch', steps: nothing },
  )
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

/** A session with a published agent of the Agent Client Protocol, whose model is scripted. */
const startSession = (options: AcpSessionOptions = {}) =>
  acpSession({
    command: [join(import.meta.dirname, '../node_modules/.bin/claude-agent-acp')],
    env: (home) => ({
      ...claudeEnv(endpoint.url, home),
      IS_SANDBOX: '1',
      // Else the program asks the model what the person could type next.
      CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: 'false',
    }),
    ...options,
  })

it('streams its texts', async () => {
  const session = await startSession()
  await session.say('say hello')
  await session.until('turn_ended')
  expect((await session.of('text')).map(({ text }) => text)).toEqual(['Hello.'])
  await session.close()
})

it('asks for permission, and runs only what is approved', async () => {
  for (const decision of ['approve', 'deny']) {
    const when = `touch something, ${decision}`
    const input = { command: `touch ${decision}d`, description: 'Touches' }
    endpoint.add({ when, steps: [{ say: [{ tool: 'Bash', input }] }, { say: [{ text: 'Done.' }] }] })
    const session = await startSession()
    await session.say(when)
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'approval', request: { input: { command: `touch ${decision}d` } } })
    expect((await session.of('tool_call'))[0]).toMatchObject({ toolCallId: item!.toolCallId })
    await session.answer(item!, { decision })
    await session.until('turn_ended')
    expect(existsSync(join(session.cwd, `${decision}d`))).toBe(decision === 'approve')
    await session.close()
  }
})

it('shows its list of things to do', async () => {
  const when = 'make a list'
  const todos = [{ content: 'Look', status: 'pending', activeForm: 'Looking' }]
  endpoint.add({
    when,
    steps: [{ say: [{ tool: 'TodoWrite', input: { todos } }] }, { say: [{ text: 'Listed.' }] }],
  })
  const session = await startSession()
  await session.say(when)
  await session.until('turn_ended')
  const plans = (await session.of('tool_call')).filter(({ toolName }) => toolName === 'update_plan')
  expect(plans[0]).toMatchObject({ input: { entries: [{ content: 'Look' }] } })
  await session.close()
})

it('is interrupted while its request is pending', async () => {
  const when = 'touch and wait'
  const input = { command: 'touch never', description: 'Touches' }
  endpoint.add({ when, steps: [{ say: [{ tool: 'Bash', input }] }] })
  const session = await startSession()
  await session.say(when)
  await session.pending()
  await session.host.as(me).interrupt(session.sessionId)
  expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'interrupted' })
  await session.say('say hello')
  expect((await session.until('turn_ended', 2))[1]).toMatchObject({ reason: 'done' })
  await session.close()
})

describe('a plan', () => {
  const planned = (when: string, plan: string, ...then: Step[]): Scenario => ({
    when,
    find: { PLAN: /(\/\S+\/plans\/\S+?\.md)/ },
    steps: [
      { say: [{ tool: 'Write', input: { file_path: '{{PLAN}}', content: plan } }] },
      { say: [{ tool: 'ExitPlanMode', input: { plan } }] },
      ...then,
    ],
  })

  it('is reviewed, changed, approved, and carried out in the same conversation', async () => {
    const when = 'plan a note'
    endpoint.add(planned(when, '# Write a note', { say: [{ text: 'On it.' }] }))
    endpoint.add(planned('The user wants the plan changed: shorter', '# Note', { say: [{ text: 'Now.' }] }))
    const session = await startSession({ mode: 'plan' })
    await session.say(when)
    const [first] = await session.pending()
    expect(first).toMatchObject({ kind: 'plan_review', request: { plan: '# Write a note' } })
    await session.answer(first!, { decision: 'adjust', feedback: 'shorter' })
    const second = await nextRequest(session, first!)
    expect(second).toMatchObject({ kind: 'plan_review', request: { plan: '# Note' } })
    await session.answer(second, { decision: 'edit' })
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect(await session.mode()).toBe('acceptEdits')
    expect(await session.of('agent_session')).toHaveLength(1)
    await session.close()
  })

  it('is carried out in a conversation that knows nothing else, if the person chooses so', async () => {
    const when = 'plan it afresh'
    const plan = '# Write it from nothing'
    // The first conversation may send its model one more request before it is ended.
    endpoint.add(planned(when, plan, { say: [{ text: 'Never mind.' }] }))
    endpoint.add({ when: plan, steps: [{ say: [{ text: 'From nothing.' }] }] })
    const session = await startSession({ mode: 'plan' })
    await session.say(when)
    const [item] = await session.pending()
    await session.answer(item!, { decision: 'clean_edit' })
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect((await session.of('text')).map(({ text }) => text)).toContain('From nothing.')
    expect(await session.of('agent_session')).toHaveLength(2)
    expect(JSON.stringify(endpoint.of(plan))).not.toContain(when)
    await session.close()
  })
})

it('[L10] is killed while its request is pending: the card stays, and the approval allows one call with the same input', async () => {
  const when = 'touch it and die'
  const input = { command: 'touch after', description: 'Touches' }
  const call = { tool: 'Bash', input }
  endpoint.add(
    { when, steps: [{ say: [call] }] },
    { when: 'You were stopped', steps: [{ say: [call] }, { say: [{ text: 'Touched.' }] }] },
  )
  const session = await startSession()
  await session.say(when)
  const [item] = await session.pending()
  killAtOnce(programsOf(session.home))
  await session.until('error')
  expect(await session.pending()).toMatchObject([{ interactionId: item!.interactionId }])
  await session.answer(item!, { decision: 'approve' })
  expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
  expect(existsSync(join(session.cwd, 'after'))).toBe(true)
  expect(await session.of('interaction_response')).toHaveLength(1)
  await session.close()
})

/** Waits for the request after this one. */
async function nextRequest(
  session: Awaited<ReturnType<typeof startSession>>,
  before: Interaction,
): Promise<Interaction> {
  await session.until('interaction_request', 2)
  const [item] = await session.pending()
  expect(item!.interactionId).not.toBe(before.interactionId)
  return item!
}
