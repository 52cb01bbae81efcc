import type { AgentAdapter, AgentProcess } from '@askback/core'
import { agentContract, type AgentUnderTest } from '@askback/core/testing'
import { afterEach } from 'vitest'
import type { Block, Scenario } from './scenario.js'

const messages = { plain: 'say hello', question: 'ask me', approval: 'make a file' }

/** The scenarios for these messages. The model asks with the call `ask`, and creates a file with the call `make`. */
export function contractScenarios(ask: Block, make: Block): Scenario[] {
  return [
    { when: messages.plain, steps: [{ say: [{ text: 'Hello. What shall we do today?' }] }] },
    { when: messages.question, steps: [{ say: [ask] }, { say: [{ text: 'Good.' }] }] },
    { when: 'You were stopped', steps: [{ say: [{ text: 'I see.' }] }] },
    { when: messages.approval, steps: [{ say: [make] }, { say: [{ text: 'That was it.' }] }] },
  ]
}

export const yesOrNo = {
  header: 'Go on?',
  question: 'Shall I go on?',
  options: [
    { label: 'Yes', description: 'Go on' },
    { label: 'No', description: 'Stop here' },
  ],
}

/** Runs the contract suite of all agents, and ends every process after its test. */
export function testContract(
  name: string,
  adapter: () => AgentAdapter,
  more: Partial<AgentUnderTest> = {},
): void {
  const started: AgentProcess[] = []
  afterEach(() => Promise.all(started.splice(0).map((agent) => agent.stop())))
  agentContract(name, () => {
    const tested = adapter()
    const recording: AgentAdapter = {
      ...tested,
      async start(context, signal) {
        const agent = await tested.start(context, signal)
        started.push(agent)
        return agent
      },
    }
    return { adapter: recording, messages, ...more }
  })
}
