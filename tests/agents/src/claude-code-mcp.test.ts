import { writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createCredentials, createGateway } from '@askback/gateway'
import { describe, expect, it } from 'vitest'
import { file } from '../../e2e/http/command.js'
import { claudePrint } from './claude-code-cli.js'
import { claudeSession } from './claude-session.js'
import { answer, cwd, endpoint, gateway, home, pending } from './claude-code-world.js'

function server(how: 'stdio' | 'http'): object {
  const { url, agentToken } = gateway.ready
  if (how === 'stdio') return { command: process.execPath, args: [file, 'mcp', '--data', gateway.data] }
  return { type: 'http', url: `${url}/mcp`, headers: { Authorization: `Bearer ${agentToken}` } }
}

/** Claude Code with Askback as an MCP server. */
async function run(prompt: string, how: 'stdio' | 'http', args: string[]): Promise<string> {
  const config = join(home, 'mcp.json')
  await writeFile(config, JSON.stringify({ mcpServers: { askback: server(how) } }))
  return claudePrint(prompt, {
    url: endpoint.url,
    home,
    cwd,
    args: ['--mcp-config', config, '--strict-mcp-config', ...args],
  })
}

const promptTool = ['--permission-prompt-tool', 'mcp__askback__permission_prompt']
const touch = { tool: 'Bash', input: { command: 'touch made && echo so be it' }, id: 'toolu_touch' }

describe.each(['stdio', 'http'] as const)('Claude Code with Askback as an MCP server by %s', (how) => {
  it('asks whether a tool may run, at the call', async () => {
    const when = `make it by ${how}`
    const call = { ...touch, id: `toolu_${how}` }
    endpoint.add({ when, steps: [{ say: [call] }, { expects: ['so be it'], say: [{ text: 'Made.' }] }] })
    const done = run(when, how, promptTool)
    const item = await pending()
    expect(item).toMatchObject({
      kind: 'approval',
      toolName: 'Bash',
      toolCallId: call.id,
      request: { input: call.input },
    })
    await answer(item, { decision: 'approve' })
    expect(await done).toBe('Made.')
  })

  it('gets the reason of a denial', async () => {
    const when = `make it not by ${how}`
    const expects = ['Not while the tests run']
    endpoint.add({ when, steps: [{ say: [touch] }, { expects, say: [{ text: 'I see.' }] }] })
    const done = run(when, how, promptTool)
    await answer(await pending(), { decision: 'deny', message: 'Not while the tests run.' })
    expect(await done).toBe('I see.')
    expect(existsSync(join(cwd, 'made'))).toBe(false)
  })

  it('asks the user, and the model gets the answer', async () => {
    const when = `which colour by ${how}`
    const questions = [{ question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }]
    const ask = { tool: 'mcp__askback__ask_user', input: { questions }, id: `toolu_ask_${how}` }
    endpoint.add({
      when,
      steps: [{ say: [ask] }, { expects: ['"Which colour?" = "Blue"'], say: [{ text: 'Blue.' }] }],
    })
    const done = run(when, how, ['--allowedTools', 'mcp__askback__ask_user'])
    const item = await pending()
    expect(item).toMatchObject({ kind: 'question', toolCallId: ask.id, toolName: 'ask_user' })
    await answer(item, { answers: [{ selected: ['Blue'] }] })
    expect(await done).toBe('Blue.')
  })
})

it('with a prompt tool, its question is a question, not an approval', async () => {
  const options = [
    { label: 'Left', description: 'l' },
    { label: 'Right', description: 'r' },
  ]
  const questions = [{ header: 'Way', question: 'Which way?', options, multiSelect: false }]
  endpoint.add({
    when: 'find the way',
    steps: [
      { say: [{ tool: 'AskUserQuestion', input: { questions } }] },
      { expects: ['"Which way?"="Right"'], say: [{ text: 'To the right then.' }] },
    ],
  })
  const done = run('find the way', 'stdio', promptTool)
  const item = await pending()
  expect(item).toMatchObject({ kind: 'question', toolName: 'AskUserQuestion' })
  await answer(item, { answers: [{ selected: ['Right'] }] })
  expect(await done).toBe('To the right then.')
})

it('a script in the shell of a Claude that the gateway runs asks in its session, at its call', async () => {
  const shells: Record<string, string> = {}
  const command = `"${process.execPath}" "${file}" ask "Which colour?" --option Red --option Blue`
  // The call contains only the path of the script, so it is found by the shell that runs it.
  endpoint.add({
    when: 'colours in a shell',
    steps: [{ say: [{ tool: 'Bash', input: { command } }] }, { expects: ['Blue'], say: [{ text: 'Blue.' }] }],
  })
  const session = await claudeSession({ url: endpoint.url, shells })
  const { host, store, sessionId } = session
  const credentials = await createCredentials({
    store,
    owner: { name: 'me', tokens: ['person'] },
    agentToken: 'outside',
    onError: (error) => session.errors.push(error),
  })
  const own = createGateway({ host, store, credentials })
  shells['ASKBACK_URL'] = await own.listen()
  shells['ASKBACK_SESSION'] = sessionId
  shells['ASKBACK_AGENT_TOKEN'] = credentials.sessionToken(sessionId)
  await session.say('colours in a shell')
  const [approval] = await session.pending()
  await session.answer(approval!, { decision: 'approve' })
  await expect.poll(async () => (await session.pending())[0]?.kind).toBe('question')
  const [question] = await session.pending()
  const { toolCallId, turnId, responseId } = approval!
  expect(question).toMatchObject({ toolCallId, turnId, responseId, openedBy: `agent:${sessionId}` })
  await session.answer(question!, { answers: [{ selected: ['Blue'] }] })
  expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
  await own.close()
  credentials.close()
  await host.close()
  await store.close()
})
