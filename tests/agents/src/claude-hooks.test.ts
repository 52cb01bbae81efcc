import { query } from '@anthropic-ai/claude-agent-sdk'
import { expect, it } from 'vitest'
import { createClaudeHooks } from '@askback/agents/claude'
import { createDesk, memoryStore } from '@askback/core'
import { startClaudeEndpoint } from './claude-endpoint.js'
import { folderOf } from './folders.js'
import { claudeEnv, me } from './claude-session.js'

it('an embedder’s query asks through a session with one line of code', async () => {
  const options = [
    { label: 'Left', description: 'l' },
    { label: 'Right', description: 'r' },
  ]
  const questions = [{ header: 'Way', question: 'Which way?', options, multiSelect: false }]
  const endpoint = await startClaudeEndpoint({
    when: 'lead the way',
    steps: [
      { say: [{ tool: 'AskUserQuestion', input: { questions } }] },
      {
        expects: ['"Which way?"="Right"'],
        say: [{ tool: 'Bash', input: { command: 'touch right && echo turned' } }],
      },
      { expects: ['turned'], say: [{ text: 'We are there.' }] },
    ],
  })
  const cwd = await folderOf('work')
  const env = claudeEnv(endpoint.url, await folderOf('home'))
  const desk = createDesk({ store: memoryStore() })
  const asked: string[] = []
  desk.on(({ events }) => {
    for (const event of events) {
      if (event.type !== 'interaction_request') continue
      asked.push(event.kind)
      const answer =
        event.kind === 'question' ? { answers: [{ selected: ['Right'] }] } : { decision: 'approve' }
      void desk.as(me).respond({ interactionId: event.interactionId, answer })
    }
  })

  const session = desk.session('my-own')
  const run = query({
    prompt: 'lead the way',
    options: {
      cwd,
      env,
      permissionMode: 'default',
      settingSources: [],
      ...createClaudeHooks(session, { cwd }),
    },
  })
  let result = ''
  for await (const message of run)
    if (message.type === 'result' && 'result' in message) result = message.result

  expect(result).toBe('We are there.')
  expect(asked).toEqual(['question', 'approval'])
  expect((await session.snapshot()).state.toolCalls.map(({ toolName }) => toolName)).toEqual([
    'AskUserQuestion',
    'Bash',
  ])
  expect(endpoint.problems).toEqual([])
  desk.close()
  await endpoint.close()
})
