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

describe('the tool of a kind', () => {
  const described = { presentation: 'tool', request: { type: 'object' }, answer: null }
  const kinds = () => [
    { ...described, kind: 'user', title: 'Which user' },
    { ...described, kind: 'time_slot', title: 'When' },
    { ...described, kind: 'count', title: 'How many', request: { type: 'string' } },
  ]

  /** The tools of a server with these kinds, and what a call asks for and returns if its request is settled like this. */
  async function call(name: string, given: Record<string, Json>, settled: Partial<Interaction> = {}) {
    const item: Interaction = {
      ...approved,
      kind: 'time_slot',
      settlement: 'answered',
      answer: 4,
      ...settled,
    }
    const asked: unknown[] = []
    const open: RequestPort['open'] = (body) => {
      asked.push(body)
      return Promise.resolve(item)
    }
    const server = createAskServer({ version: '1', requests: { ...requestsOf(item), open }, kinds })
    const [here, there] = InMemoryTransport.createLinkedPair()
    const client = new Client({ name: 'tester', version: '1' })
    await Promise.all([server.connect(there), client.connect(here)])
    const { content } = await client.callTool({ name, arguments: given })
    const names = (await client.listTools()).tools.map((tool) => tool.name)
    await client.close()
    return { text: (content as { text: string }[])[0]!.text, asked, names }
  }

  it('has a name that no other tool has', async () => {
    const { names, asked } = await call('ask__user', { of: 'x' })
    expect(new Set(names).size).toBe(names.length)
    expect(names).toContain('ask_time_slot')
    expect(asked).toMatchObject([{ kind: 'user', toolName: 'ask__user', request: { of: 'x' } }])
  })

  it('takes a request that is no object as an argument', async () => {
    const { asked, text } = await call('ask_count', { request: 'servers' })
    expect(asked).toMatchObject([{ kind: 'count', request: 'servers' }])
    expect(text).toBe('Answered: 4')
  })

  it('[L10] returns no approval that was claimed before', async () => {
    expect((await call('ask_time_slot', {}, { settlement: 'approved' })).text).toBe('Approved: 4')
    const again = await call('ask_time_slot', {}, { settlement: 'approved', delivered: true })
    expect(again.text).toContain('may have run already')
  })
})
