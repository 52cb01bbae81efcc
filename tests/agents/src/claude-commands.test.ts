import { query } from '@anthropic-ai/claude-agent-sdk'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { sayHello } from './agent-session.js'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { folderOf } from './folders.js'
import { claudeEnv, claudeSession, helloScenario, run } from './claude-session.js'

// Claude Code answers some slash commands itself, without its model, and does not repeat their messages to accept them.

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint(helloScenario)
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

/** Commands that Claude Code refuses outside a terminal, and does not list for a program. */
const terminalOnly = ['help', 'status', 'plan', 'login', 'exit', 'permissions', 'resume', 'hooks', 'memory']

/** The commands that Claude Code offers to a program. */
async function listedCommands(url: string): Promise<string[]> {
  const env = claudeEnv(url, await folderOf('home'))
  const run = query({
    prompt: 'hello',
    options: { env, cwd: await folderOf('work'), settingSources: ['user'] },
  })
  for await (const message of run)
    if (message.type === 'system' && message.subtype === 'init') {
      run.close()
      return message.slash_commands
    }
  throw new Error('Claude Code has not said what it offers.')
}

it('every slash command ends its turn, listed, unlisted or unknown', async () => {
  // Commands that expand to a prompt, and commands that do not exist, reach the model.
  const model = await startClaudeEndpoint({ when: '', steps: [{ say: [{ text: 'Model.' }] }] })
  const listed = await listedCommands(model.url)
  const session = await claudeSession({ url: model.url })
  expect(listed.length).toBeGreaterThan(20)
  // A dump of the heap takes seconds and hundreds of megabytes, and ends like any other local command.
  const others = listed.filter((name) => name !== 'heapdump' && !terminalOnly.includes(name))
  let turns = 0
  for (const name of [...terminalOnly, 'no-such-command', ...others]) {
    await session.say(`/${name}`)
    turns += 1
    const ended = await session.until('turn_ended', turns)
    expect({ name, reason: ended.at(-1)!.reason }).toEqual({ name, reason: 'done' })
  }
  await sayHello(session, turns + 1)
  await session.close()
  await model.close()
})

it('the output of a command is text of its turn', async () => {
  const session = await claudeSession({ url: endpoint.url })
  await session.say('/help')
  const { turnId } = (await session.until('turn_ended'))[0]!
  expect(await session.of('text')).toMatchObject([
    { turnId, text: "/help isn't available in this environment." },
  ])
  await session.say('/compact')
  await session.until('turn_ended', 2)
  expect((await session.of('text')).at(-1)!.text).toContain('compact')
  await session.close()
})

it('messages after a command are answered, and the turn ends after the last one', async () => {
  const session = await claudeSession({ url: endpoint.url })
  await Promise.all(['/status', 'say hello', '/help'].map((text) => session.say(text)))
  await session.until('turn_ended')
  const texts = (await session.of('text')).map(({ text }) => text)
  expect(texts).toContain('Hello again.')
  expect(texts.filter((text) => text.includes("isn't available"))).toHaveLength(2)
  expect(await session.of('turn_ended')).toMatchObject([{ reason: 'done' }])
  await session.close()
})

it('a command during a pending request changes neither the request nor the turn', async () => {
  const when = 'touch something'
  endpoint.add({ when, steps: [{ say: [run('touch something')] }, { say: [{ text: 'Touched.' }] }] })
  const session = await claudeSession({ url: endpoint.url })
  await session.say(when)
  const [item] = await session.pending()
  await session.say('/status')
  await session.answer(item!, { decision: 'approve' })
  await session.until('turn_ended')
  expect((await session.of('text')).map(({ text }) => text)).toEqual([
    'Touched.',
    "/status isn't available in this environment.",
  ])
  await session.close()
})

it('/clear starts a fresh context, which continues after a restart', async () => {
  const session = await claudeSession({ url: endpoint.url })
  await sayHello(session, 1)
  await session.say('/clear')
  const costs = (await session.until('turn_ended', 2)).map(({ usage }) => usage?.costUsd ?? 0)
  expect(costs[0]).toBeGreaterThan(0)
  expect(costs[1]).toBe(0)
  expect(await session.of('context_cleared')).toHaveLength(1)
  await sayHello(session, 3)
  const { messages } = endpoint.of('say hello').at(-1)!
  expect(messages.filter(({ role }) => role === 'assistant')).toEqual([])
  const ids = (await session.of('agent_session')).map(({ agentSessionId }) => agentSessionId)
  expect(new Set(ids).size).toBe(2)
  await session.close()
  const again = await claudeSession({ url: endpoint.url, before: session })
  await sayHello(again, 4)
  expect(await again.of('error')).toEqual([])
  expect(
    endpoint
      .of('say hello')
      .at(-1)!
      .messages.filter(({ role }) => role === 'assistant'),
  ).toHaveLength(1)
  await again.close()
})
