import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import type { Interaction, Json } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import type { RequestPort } from './request-port.js'
import { createAskServer, type AskServerOptions } from './server.js'

const approved: Interaction = {
  interactionId: 'i1',
  sessionId: 's1',
  toolCallId: 'c1',
  toolName: 'deploy',
  kind: 'approval',
  presentation: 'tool',
  request: { input: {} },
  digest: 'd',
  status: 'settled',
  requestedAt: 1,
  onTimeout: 'deny',
  settlement: 'approved',
  answer: { decision: 'approve' },
}

function requestsOf(item: Interaction): RequestPort {
  return {
    open: () => Promise.resolve(item),
    find: () => Promise.resolve(item),
    wait: () => Promise.resolve(item),
    unfinished: () => Promise.resolve([item]),
    cancel: () => Promise.resolve(),
  }
}

/** The result that a client gets if its request is settled like this. */
async function resultOf(settled: Partial<Interaction>, name: string, given: Record<string, Json>) {
  const server = createAskServer({ version: '1', requests: requestsOf({ ...approved, ...settled }) })
  const [here, there] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'tester', version: '1' })
  await Promise.all([server.connect(there), client.connect(here)])
  const { content, _meta } = await client.callTool({ name, arguments: given })
  await client.close()
  return { text: (content as { text: string }[])[0]!.text, interaction: _meta?.['askback/interaction'] }
}

/** How long a server waits in a call of this client, in milliseconds. */
async function waitOf(name: string, options: Partial<AskServerOptions> = {}): Promise<number | null> {
  const pending: Interaction = { ...approved, status: 'pending' }
  let waited: number | null = 0
  const server = createAskServer({
    version: '1',
    requests: {
      ...requestsOf(pending),
      wait: (_, { ms }) => {
        waited = ms
        return Promise.resolve(approved)
      },
    },
    ...options,
  })
  const [here, there] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name, version: '1' })
  await Promise.all([server.connect(there), client.connect(here)])
  await client.callTool({ name: 'request_approval', arguments: deploy })
  await client.close()
  return waited
}

const deploy = { tool: 'deploy', input: {} }
const bash = { tool_name: 'Bash', input: { command: 'make' } }

describe('[L10] an approval that was claimed before', () => {
  it('is not returned as approved', async () => {
    expect((await resultOf({}, 'request_approval', deploy)).text).toBe(
      'Approved, this once, exactly as asked.',
    )
    const { text, interaction } = await resultOf({ delivered: true }, 'request_approval', deploy)
    expect(text).toContain('may have run already')
    expect(interaction).toMatchObject({ settlement: 'approved', delivered: true })
  })

  it('lets no tool of Claude Code run', async () => {
    expect((await resultOf({}, 'permission_prompt', bash)).text).toContain('"behavior":"allow"')
    const { text } = await resultOf({ delivered: true }, 'permission_prompt', bash)
    expect(JSON.parse(text)).toMatchObject({
      behavior: 'deny',
      message: expect.stringContaining('may have run already') as unknown,
    })
  })

  it('of a plan is returned again, because a plan is no call that could run twice', async () => {
    const plan = { kind: 'plan_review', request: { plan: 'Go.' }, answer: { decision: 'edit' } } as const
    const { text } = await resultOf({ ...plan, delivered: true }, 'review_plan', { plan: 'Go.' })
    expect(text).toContain('The plan is accepted.')
  })
})

describe('a call waits', () => {
  it('for less than a minute, after which most clients give up', async () => {
    const ms = await waitOf('some-client')
    expect(ms).toBeGreaterThan(40_000)
    expect(ms).toBeLessThanOrEqual(45_000)
  })

  it.each(['claude-code', 'opencode'])('as long as it takes, for %s', async (name) => {
    expect(await waitOf(name)).toBeNull()
  })

  it('as long as its operator says', async () => {
    expect(await waitOf('claude-code', { waitMs: 100 })).toBeLessThanOrEqual(100)
    expect(await waitOf('some-client', { waitMs: null })).toBeNull()
  })
})

it('gives a kind whose tool would have the name of another tool a name of its own', async () => {
  const asked: unknown[] = []
  const described = { presentation: 'tool', request: { type: 'object' }, answer: null }
  const requests: RequestPort = {
    ...requestsOf({ ...approved, kind: 'user', settlement: 'answered', answer: 'Bob' }),
    open: (body) => {
      asked.push(body)
      return Promise.resolve({ ...approved, kind: 'user', settlement: 'answered', answer: 'Bob' })
    },
  }
  const kinds = () => [
    { ...described, kind: 'user', title: 'Which user' },
    { ...described, kind: 'time_slot', title: 'When' },
  ]
  const server = createAskServer({ version: '1', requests, kinds })
  const [here, there] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'tester', version: '1' })
  await Promise.all([server.connect(there), client.connect(here)])
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names).toContain('ask_time_slot')
  const { content } = await client.callTool({ name: 'ask__user', arguments: { of: 'x' } })
  expect(content).toMatchObject([{ text: 'Answered: "Bob"' }])
  expect(asked).toMatchObject([{ kind: 'user', toolName: 'ask__user', request: { of: 'x' } }])
  await client.close()
})
