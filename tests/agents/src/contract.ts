import type { AgentAdapter, AgentProcess } from '@askback/core'
import { agentContract, type AgentUnderTest } from '@askback/core/testing'
import { afterEach } from 'vitest'
import type { Block, Scenario } from './scenario.js'

const messages = { plain: 'say hello', question: 'ask me', approval: 'make a file' }

/** What an agent does with them, whose model asks with one call and makes a file with the other. */
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

/** The contract of all agents; no process outlives its test. */
export function holds(name: string, adapter: () => AgentAdapter, more: Partial<AgentUnderTest> = {}): void {
  const started: AgentProcess[] = []
  afterEach(() => Promise.all(started.splice(0).map((agent) => agent.stop())))
  agentContract(name, () => {
    const one = adapter()
    const remembering: AgentAdapter = {
      ...one,
      async start(context, signal) {
        const agent = await one.start(context, signal)
        started.push(agent)
        return agent
      },
    }
    return { adapter: remembering, messages, ...more }
  })
}
