import { createDesk, memoryStore, type AgentContext, type ReportedEvent } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { expect, it, onTestFinished } from 'vitest'
import { BaseAgentProcess, type ContinueOptions } from './base-agent-process.js'
import { INTERRUPT_GRACE_MS } from './call-request.js'
import { TurnLog, type TurnEndReason } from './turn-log.js'

const me = { by: { id: 'me' }, via: 'direct' } as const

class TestAgent extends BaseAgentProcess {
  readonly messages: { message: string; options: ContinueOptions }[] = []
  isKilled = false

  constructor(context: AgentContext, clock = fakeClock()) {
    super(context, { turnLog: new TurnLog(context, () => 'id'), clock })
    this.resumeTurn()
  }

  finishTurn(reason: TurnEndReason): Promise<void> {
    return this.endTurn(reason)
  }

  interrupt(): Promise<void> {
    this.cancelResume()
    return this.endTurn('interrupted')
  }

  failWith(error: Error): Promise<void> {
    return this.fail(error)
  }

  takeGrant(command: string): boolean {
    return this.grants.take('Bash', { command }) !== null
  }

  protected override async killProgram(): Promise<void> {
    this.isKilled = true
  }

  protected override async continueTurn(message: string, options: ContinueOptions): Promise<void> {
    this.messages.push({ message, options })
    await this.turnLog.report(...options.results)
  }
}

/** An agent that resumes a turn with one pending request. */
async function resumedAgent(kind: 'question' | 'approval') {
  const desk = createDesk({ store: memoryStore() })
  onTestFinished(() => desk.close())
  await desk.createSession({ id: 's', agent: 'test' })
  const input = { command: 'make' }
  await desk.report({
    sessionId: 's',
    events: [
      { type: 'turn_started', turnId: 'turn' },
      { type: 'tool_call', turnId: 'turn', toolCallId: 'call', toolName: 'Bash', input, source: 'agent' },
    ],
  })
  const question = { header: 'Go', question: 'Go on?', options: [], multiSelect: false }
  const { interaction } = await desk.open({
    sessionId: 's',
    turnId: 'turn',
    toolCallId: 'call',
    toolName: 'Bash',
    kind,
    request: kind === 'approval' ? { input } : { questions: [question] },
  })
  const { state } = await desk.snapshot('s')
  const reported: ReportedEvent[] = []
  const clock = fakeClock()
  const agent = new TestAgent(
    {
      session: desk.session('s'),
      resume: { turnId: 'turn', state },
      report: async (...events: ReportedEvent[]) => void reported.push(...events),
    } as Partial<AgentContext> as AgentContext,
    clock,
  )
  const { interactionId } = interaction
  const answer = (given: object) => desk.as(me).respond({ interactionId, answer: { ...given } })
  return { desk, agent, clock, reported, answer }
}

it('continues an interrupted turn with the answer, and reports the result of the call', async () => {
  const { agent, reported, answer } = await resumedAgent('question')
  await answer({ answers: [{ selected: [], other: 'Yes' }] })
  await expect.poll(() => agent.messages).toHaveLength(1)
  expect(agent.messages[0]!.message).toContain('"Go on?" = "Yes"')
  await expect
    .poll(() => reported)
    .toMatchObject([{ type: 'tool_result', turnId: 'turn', toolCallId: 'call' }])
})

it('does not end the turn as done while the request is pending', async () => {
  const { agent, reported, answer } = await resumedAgent('question')
  await agent.finishTurn('done')
  expect(reported).toEqual([])
  await answer({ answers: [{ selected: [], other: 'Yes' }] })
  await expect.poll(() => reported).toHaveLength(1)
  await expect
    .poll(async () => {
      await agent.finishTurn('done')
      return reported.at(-1)
    })
    .toMatchObject({ type: 'turn_ended', reason: 'done' })
})

it('an unclaimed approval allows one call of this turn, whose result is reported at its end', async () => {
  const { agent, reported, answer } = await resumedAgent('approval')
  await answer({ decision: 'approve' })
  await expect.poll(() => agent.messages).toHaveLength(1)
  expect(agent.messages[0]!.options.results).toEqual([])
  expect([agent.takeGrant('make'), agent.takeGrant('make')]).toEqual([true, false])
  await expect
    .poll(async () => {
      await agent.finishTurn('done')
      return reported
    })
    .toMatchObject([{ type: 'tool_result', toolCallId: 'call' }, { type: 'turn_ended' }])
})

it('an interrupt sends the agent no message about the cancelled request', async () => {
  const { desk, agent, clock, reported } = await resumedAgent('question')
  await desk.interrupt('s')
  await expect.poll(() => clock.armed).toBe(1)
  await agent.interrupt()
  clock.advance(INTERRUPT_GRACE_MS)
  await expect.poll(() => clock.armed).toBe(0)
  expect(agent.messages).toEqual([])
  expect(reported).toMatchObject([{ type: 'turn_ended', reason: 'interrupted' }])
})

it('a failure ends the turn and the program, and the agent is lost', async () => {
  const { agent, reported } = await resumedAgent('question')
  await agent.failWith(new Error('broken'))
  expect(await agent.ended).toEqual({ how: 'lost', message: 'broken' })
  expect(agent.isKilled).toBe(true)
  expect(reported).toMatchObject([
    { type: 'error', code: 'agent_error', message: 'broken' },
    { type: 'turn_ended', reason: 'error' },
  ])
})
