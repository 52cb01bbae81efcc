import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startClaudeEndpoint } from './claude-endpoint.js'
import { claudeEnv, claudeSession } from './claude-session.js'
import { otherUser } from './other-user.js'

it('Claude works the same for a user who is not root, with a program that is given by its path', async () => {
  const options = [
    { label: 'Yes', description: 'y' },
    { label: 'No', description: 'n' },
  ]
  const questions = [{ header: 'Sure', question: 'Sure?', options, multiSelect: false }]
  const endpoint = await startClaudeEndpoint({
    when: 'be somebody else',
    steps: [
      { say: [{ tool: 'Bash', input: { command: 'touch whose && id -u', description: 'Runs' } }] },
      { say: [{ tool: 'AskUserQuestion', input: { questions } }] },
      { expects: ['"Sure?"="No"'], say: [{ text: 'Fine.' }] },
    ],
  })
  const { executable, home, cwd } = await otherUser()
  const session = await claudeSession({
    url: endpoint.url,
    cwd,
    mode: 'bypassPermissions',
    agent: { env: claudeEnv(endpoint.url, home), ...(executable !== undefined && { executable }) },
  })
  await session.say('be somebody else')
  // Even in the mode that allows everything, a question needs a person.
  const [item] = await session.pending()
  expect(item!.kind).toBe('question')
  await session.answer(item!, { answers: [{ selected: ['No'] }] })
  await session.until('turn_ended')
  expect((await session.of('interaction_response')).map(({ via }) => via)).toEqual(['policy', 'direct'])
  expect((await stat(join(cwd, 'whose'))).uid).not.toBe(0)
  await session.close()
  expect(endpoint.problems).toEqual([])
  await endpoint.close()
})
