import { fakeClock } from '@askback/core/testing'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
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

const TEN_MINUTES = 10 * 60_000

it('an idle Claude Code ends after ten minutes, and the next message continues its conversation', async () => {
  endpoint.add(
    { when: 'remember the word mango', steps: [{ say: [{ text: 'Mango it is.' }] }] },
    {
      when: 'which word was it',
      // Found in the conversation that the model receives.
      find: { WORD: /remember the word (\w+)/ },
      steps: [{ say: [{ text: '{{WORD}}!' }] }],
    },
  )
  const clock = fakeClock()
  const session = await claudeSession({ url: endpoint.url, clock })
  await session.say('remember the word mango')
  await session.until('turn_ended')
  expect(programsOf(session.home)).not.toEqual([])
  await eventually(() => expect(clock.armed).toBe(1))
  clock.advance(TEN_MINUTES)
  await eventually(() => expect(programsOf(session.home)).toEqual([]))
  await session.say('which word was it')
  expect((await session.until('turn_ended', 2)).map(({ reason }) => reason)).toEqual(['done', 'done'])
  expect((await session.of('text')).map(({ text }) => text)).toEqual(['Mango it is.', 'mango!'])
  expect(new Set((await session.of('agent_session')).map((event) => event.agentSessionId)).size).toBe(1)
  expect(await session.of('error')).toEqual([])
  await session.close()
})

it('a Claude Code with a task in the background stays', async () => {
  const command = 'tail -f /dev/null'
  const background = { tool: 'Bash', input: { command, description: 'Runs', run_in_background: true } }
  endpoint.add({ when: 'run it behind', steps: [{ say: [background] }, { say: [{ text: 'It runs.' }] }] })
  const clock = fakeClock()
  const session = await claudeSession({ url: endpoint.url, clock, mode: 'bypassPermissions' })
  await session.say('run it behind')
  await session.until('turn_ended')
  const tails = () => programsOf(session.home, 'tail')
  await eventually(() => expect(tails()).toHaveLength(1))
  const pids = tails()
  await eventually(() => expect(clock.armed).toBe(1))
  clock.advance(TEN_MINUTES)
  // It was looked at, and the next alarm is set.
  await eventually(() => expect(clock.armed).toBe(1))
  expect(tails()).toEqual(pids)
  await session.close()
})
