import { AskbackError, pendingOf } from '@askback/protocol'
import { expect, it } from 'vitest'
import type { Command } from './command.js'
import { ada, choice, expiring, listFiles, open, Session, start } from './decide-cases.test.helper.js'

it('a decision changes nothing: deciding twice gives the same events', () => {
  const session = new Session()
  session.run(start)
  session.run(listFiles)
  session.run(expiring(open('question', choice)))
  session.now += 1000
  const commands: Command[] = [
    listFiles,
    { type: 'respond', interactionId: '#1', answer: { decision: 'deny' }, ...ada },
    { type: 'expire', interactionId: '#2' },
    { type: 'message', text: 'No', route: 'auto', ...ada },
    { type: 'interrupt' },
    { type: 'end' },
  ]
  for (const command of commands) {
    const seen: string[] = []
    for (let time = 0; time < 2; time++) {
      const asked: string[] = []
      const decision = session.decide(command, {
        newId: () => 'new',
        claimant: (id) => {
          asked.push(id)
          return 'waiter'
        },
      })
      seen.push(JSON.stringify([decision, asked]))
    }
    expect(seen[1]).toBe(seen[0])
  }
  expect(pendingOf(session.state)).toHaveLength(2)
})

it('a rule is written with the approval that asks for it', () => {
  const session = new Session()
  session.run(start)
  session.run(listFiles)
  const answer = { decision: 'approve', scope: 'session' }
  const { kv } = session.decide({ type: 'respond', interactionId: '#1', answer, ...ada })
  expect(kv).toEqual([expect.objectContaining({ key: expect.stringContaining('rule/session/s/') as string })])
})

it('a refused command throws an AskbackError', () => {
  expect(() => new Session().run({ type: 'cancel', interactionId: 'x' })).toThrow(AskbackError)
})
