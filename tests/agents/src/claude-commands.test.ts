import { query } from '@anthropic-ai/claude-agent-sdk'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { hello, run, small } from './claude-hello.js'
import { folderOf } from './folders.js'
import { claudeEnv, claudeSession } from './claude-session.js'

// Claude Code answers some slash commands itself, without its model and without acknowledging the message by its id.

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint(...small)
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

/** Commands of the terminal that Claude Code refuses outside one; its list for this session leaves them out. */
const terminalOnly = ['help', 'status', 'plan', 'login', 'exit', 'permissions', 'resume', 'hooks', 'memory']

/** The commands that Claude Code offers to a program. */
async function offered(url: string): Promise<string[]> {
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
  const listed = await offered(model.url)
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
  await hello(session, turns + 1)
  await session.close()
  await model.close()
})

it('what a command prints is text of its turn', async () => {
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

it('messages behind a command run, and the turn ends after the last of them', async () => {
  const session = await claudeSession({ url: endpoint.url })
  await Promise.all(['/status', 'say hello', '/help'].map((text) => session.say(text)))
  await session.until('turn_ended')
  const texts = (await session.of('text')).map(({ text }) => text)
  expect(texts).toContain('Hello again.')
  expect(texts.filter((text) => text.includes("isn't available"))).toHaveLength(2)
  expect(await session.of('turn_ended')).toMatchObject([{ reason: 'done' }])
  await session.close()
})

it('a command sent while a call waits for a person leaves the call and its turn alone', async () => {
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

it('/clear starts a fresh context, which a restart goes on with', async () => {
  const session = await claudeSession({ url: endpoint.url })
  await hello(session, 1)
  await session.say('/clear')
  const costs = (await session.until('turn_ended', 2)).map(({ usage }) => usage?.costUsd ?? 0)
  expect(costs[0]).toBeGreaterThan(0)
  expect(costs[1]).toBe(0)
  expect(await session.of('context_cleared')).toHaveLength(1)
  await hello(session, 3)
  const { messages } = endpoint.of('say hello').at(-1)!
  expect(messages.filter(({ role }) => role === 'assistant')).toEqual([])
  const ids = (await session.of('agent_session')).map(({ agentSessionId }) => agentSessionId)
  expect(new Set(ids).size).toBe(2)
  await session.close()
  const again = await claudeSession({ url: endpoint.url, before: session })
  await hello(again, 4)
  expect(await again.of('error')).toEqual([])
  expect(
    endpoint
      .of('say hello')
      .at(-1)!
      .messages.filter(({ role }) => role === 'assistant'),
  ).toHaveLength(1)
  await again.close()
})
