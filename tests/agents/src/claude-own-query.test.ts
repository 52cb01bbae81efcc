import { existsSync, readFileSync } from 'node:fs'
import { query, type Options, type Query } from '@anthropic-ai/claude-agent-sdk'
import { connectClaude, createClaudeHooks, type ApprovedPlan } from '@askback/agents/claude'
import { createDesk, memoryStore } from '@askback/core'
import type { EventOf, SessionEvent } from '@askback/protocol'
import { transformWithOxc } from 'vite'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeEnv, me, run as bash } from './claude-session.js'
import { eventually } from './eventually.js'
import { folderOf } from './folders.js'
import type { Scenario } from './scenario.js'

// Embedders run a query of their own, and use only a session of Askback.

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint()
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

async function startWorld(sessionId = 'my-own') {
  const store = memoryStore()
  const desk = createDesk({ store })
  const session = desk.session(sessionId)
  const home = await folderOf('home')
  const cwd = await folderOf('work')
  const events = () => store.read({ sessionId, limit: 1000 })
  return {
    desk,
    session,
    home,
    cwd,
    query: (prompt: string, options: Options) =>
      query({ prompt, options: { cwd, env: claudeEnv(endpoint.url, home), ...options } }),
    of: async <Type extends SessionEvent['type']>(type: Type) =>
      (await events()).filter((event): event is EventOf<Type> => event.type === type),
    events,
    /** Calls back with each request when it is committed. */
    onRequest(handle: (request: EventOf<'interaction_request'>) => unknown) {
      desk.on(({ events: committed }) => {
        for (const event of committed) if (event.type === 'interaction_request') void handle(event)
      })
    },
    answer: (interactionId: string, answer: unknown) => desk.as(me).respond({ interactionId, answer }),
  }
}

/** The model writes a plan, hands it in, and then says something. */
function planScenario(when: string, plan: string, after: { text: string }): Scenario {
  return {
    when,
    find: { PLAN: /(\/\S+\/plans\/\S+?\.md)/ },
    steps: [
      { say: [{ tool: 'Write', input: { file_path: '{{PLAN}}', content: plan } }] },
      { say: [{ tool: 'ExitPlanMode', input: {} }] },
      { say: [after] },
    ],
  }
}

async function drain(messages: AsyncIterable<unknown>): Promise<Error | null> {
  try {
    for await (const message of messages) void message
    return null
  } catch (error) {
    return error as Error
  }
}

describe.concurrent('a query of an embedder', () => {
  it('that is observed has its turn, texts, calls and results in the log', async () => {
    const when = 'observe me'
    endpoint.add({
      when,
      steps: [
        { say: [{ text: 'I make two files.' }, bash('touch one && echo made')] },
        { expects: ['made'], say: [bash('touch two')] },
        { expects: ['Not this one.'], say: [{ text: 'One, then.' }] },
      ],
    })
    const own = await startWorld()
    own.onRequest(({ interactionId, request }) => {
      const isFirst = JSON.stringify(request).includes('one')
      return own.answer(
        interactionId,
        isFirst ? { decision: 'approve' } : { decision: 'deny', message: 'Not this one.' },
      )
    })
    const claude = connectClaude(own.session, { cwd: own.cwd })
    const run = own.query(when, claude.options)
    const types = new Set<string>()
    for await (const message of claude.observe(run)) types.add(message.type)
    expect([...types]).toEqual(expect.arrayContaining(['system', 'assistant', 'user', 'result']))
    const log = (await own.events()).map(({ type }) => type)
    expect(log.slice(1, 6)).toEqual(['turn_started', 'session_status', 'agent_session', 'text', 'tool_call'])
    expect(await own.of('tool_result')).toMatchObject([
      { isError: false },
      { isError: true, settledBy: 'denied' },
    ])
    expect((await own.of('text')).map(({ text }) => text)).toEqual(['I make two files.', 'One, then.'])
    expect(await own.of('turn_ended')).toMatchObject([{ reason: 'done', usage: { outputTokens: 15 } }])
    expect((await own.session.snapshot()).session.status).toBe('idle')
    own.desk.close()
  })

  it.each<[string, (run: Query, abort: AbortController) => unknown]>([
    ['interrupted', (run) => run.interrupt()],
    ['aborted', (_run, abort) => abort.abort()],
    ['closed', (run) => run.close()],
  ])('that is %s cancels its pending requests, and ends its turn', async (name, stop) => {
    const when = `to be ${name}`
    // An aborted query sends one more request to its model before it ends.
    endpoint.add({ when, steps: [{ say: [bash('touch never')] }, { say: [{ text: 'Hm.' }] }] })
    const own = await startWorld()
    const claude = connectClaude(own.session, { cwd: own.cwd })
    const abortController = new AbortController()
    const run = own.query(when, { abortController, ...claude.options })
    own.onRequest(() => stop(run, abortController))
    await drain(claude.observe(run))
    await eventually(async () =>
      expect(await own.of('interaction_response')).toMatchObject([{ settlement: 'cancelled' }]),
    )
    expect(await own.session.pending()).toEqual([])
    expect(await own.of('turn_ended')).toHaveLength(1)
    expect((await own.session.snapshot()).session.status).toBe('idle')
    own.desk.close()
  })

  it('that throws because it was aborted counts as interrupted, not as failed', async () => {
    const own = await startWorld()
    const claude = connectClaude(own.session, { cwd: own.cwd })
    async function* aborted() {
      yield { type: 'system', subtype: 'init', session_id: 'one' } as const
      throw new DOMException('The operation was aborted.', 'AbortError')
    }
    expect(await drain(claude.observe(aborted()))).toMatchObject({ name: 'AbortError' })
    expect(await own.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
    expect(await own.of('error')).toEqual([])
    own.desk.close()
  })

  it('cancels its pending requests also with the callbacks alone', async () => {
    const when = 'only callbacks'
    endpoint.add({ when, steps: [{ say: [bash('touch never')] }] })
    const own = await startWorld()
    const run = own.query(when, createClaudeHooks(own.session, { cwd: own.cwd }))
    own.onRequest(() => run.interrupt())
    await drain(run)
    await eventually(async () =>
      expect(await own.of('interaction_response')).toMatchObject([{ settlement: 'cancelled' }]),
    )
    own.desk.close()
  })

  it('that is interrupted during a call counts as interrupted, not as failed', async () => {
    const when = 'run for long'
    endpoint.add({ when, steps: [{ say: [bash('touch started; tail -f /dev/null')] }] })
    const own = await startWorld()
    own.onRequest(({ interactionId }) => own.answer(interactionId, { decision: 'approve' }))
    const claude = connectClaude(own.session, { cwd: own.cwd })
    const run = own.query(when, claude.options)
    const drained = drain(claude.observe(run))
    await eventually(() => expect(existsSync(`${own.cwd}/started`)).toBe(true))
    await run.interrupt()
    await drained
    expect(await own.of('tool_result')).toMatchObject([{ isError: true, settledBy: 'interrupted' }])
    expect(await own.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
    own.desk.close()
  })

  it('that is not read any more ends its turn', async () => {
    const when = 'leave me'
    endpoint.add({
      when,
      steps: [{ say: [{ text: 'Long.' }, bash('touch never')] }, { say: [{ text: 'Hm.' }] }],
    })
    const own = await startWorld()
    const claude = connectClaude(own.session, { cwd: own.cwd })
    const run = own.query(when, claude.options)
    for await (const message of claude.observe(run)) if (message.type === 'assistant') break
    expect(await own.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
    await eventually(async () => expect(await own.session.pending()).toEqual([]))
    own.desk.close()
  })

  it('whose model fails reports the reason', async () => {
    const when = 'fail me'
    endpoint.add({ when, steps: [{ status: 400, type: 'invalid_request_error', message: 'too long' }] })
    const own = await startWorld()
    const claude = connectClaude(own.session, { cwd: own.cwd })
    expect(await drain(claude.observe(own.query(when, claude.options)))).toBeInstanceOf(Error)
    expect(await own.of('turn_ended')).toMatchObject([{ reason: 'error' }])
    expect((await own.of('error'))[0]!.message).toContain('too long')
    own.desk.close()
  })
})

describe.concurrent('a plan of an embedder’s query', () => {
  const plan = '# Plan\n\nMake the file.'

  async function reviewPlan(when: string, decision: string, after: { text: string }) {
    const own = await startWorld()
    endpoint.add(planScenario(when, plan, after))
    own.onRequest(({ interactionId, kind }) =>
      own.answer(interactionId, { decision: kind === 'plan_review' ? decision : 'approve' }),
    )
    const approved: ApprovedPlan[] = []
    const claude = connectClaude(own.session, {
      cwd: own.cwd,
      onPlanApproved: (one) => void approved.push(one),
    })
    const run = own.query(when, { permissionMode: 'plan', ...claude.options })
    const failure = await drain(claude.observe(run))
    return { ...own, claude, approved, failure }
  }

  it('for a fresh context ends the query, and another one carries it out', async () => {
    const own = await reviewPlan('plan afresh', 'clean_edit', { text: 'Never said.' })
    expect(own.failure).toBeNull()
    expect(own.approved).toMatchObject([{ plan, freshContext: true, permissionMode: 'acceptEdits' }])
    expect(endpoint.of('plan afresh')).toHaveLength(2)
    expect((await own.of('tool_result')).at(-1)).toMatchObject({ isError: false })
    expect(await own.of('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect(await own.of('context_cleared')).toHaveLength(1)

    const { prompt } = own.approved[0]!
    endpoint.add({ when: prompt, steps: [{ say: [{ text: 'Carried out.' }] }] })
    const next = own.query(prompt, { permissionMode: 'default', ...own.claude.options })
    expect(await drain(own.claude.observe(next))).toBeNull()
    expect(JSON.stringify(endpoint.of(prompt)[0]!.messages)).not.toContain('plan afresh')
    expect((await own.of('text')).map(({ text }) => text)).toEqual(['Carried out.'])
    expect(await own.of('turn_ended')).toMatchObject([{ reason: 'done' }, { reason: 'done' }])
    own.desk.close()
  })

  it('continues in the same context if the person chooses so, and `onPlanApproved` gets the mode', async () => {
    const own = await reviewPlan('plan on', 'edit', { text: 'On it.' })
    expect(own.failure).toBeNull()
    expect(own.approved).toMatchObject([{ plan, freshContext: false, permissionMode: 'acceptEdits' }])
    expect((await own.of('text')).map(({ text }) => text)).toEqual(['On it.'])
    expect((await own.session.snapshot()).session.permissionMode).toBe('acceptEdits')
    own.desk.close()
  })
})

it('the example in the guide runs: a plan is approved for a fresh context, and carried out there', async () => {
  const guide = readFileSync(new URL('../../../docs/guides/interactive-tools.md', import.meta.url), 'utf8')
  const samples = [...guide.matchAll(/```ts\n(.*?)```/gsu)].map(([, code = '']) => code)
  const { code } = await transformWithOxc(
    samples.find((sample) => sample.includes('connectClaude('))!,
    'sample.ts',
  )
  const body = code.replace(/^import (\{.*?\}) from ["'](.*?)["'];?$/gmu, 'const $1 = modules["$2"];')
  const when = 'Plan the release'
  endpoint.add(
    planScenario(when, '# Release', { text: 'Never said.' }),
    // The first message of the fresh context contains only the plan.
    { when: 'Carry it out.', steps: [{ say: [bash('touch released')] }, { say: [{ text: 'Released.' }] }] },
  )
  const own = await startWorld('release')
  own.onRequest(({ interactionId, kind }) =>
    own.answer(interactionId, { decision: kind === 'plan_review' ? 'default' : 'approve' }),
  )
  const modules = {
    '@anthropic-ai/claude-agent-sdk': {
      query: ({ prompt, options }: { prompt: string; options: Options }) => own.query(prompt, options),
    },
    '@askback/agents/claude': { connectClaude },
  }
  const printed: string[] = []
  // oxlint-disable-next-line typescript/no-implied-eval -- the example is our own
  const run = new Function('modules', 'desk', 'cwd', 'console', `return (async () => { ${body} })()`) as (
    ...values: unknown[]
  ) => Promise<void>
  await run(modules, own.desk, own.cwd, { log: (type: string) => printed.push(type) })
  expect(printed.filter((type) => type === 'result')).toHaveLength(2)
  expect((await own.of('text')).map(({ text }) => text)).toEqual(['Released.'])
  expect(existsSync(`${own.cwd}/released`)).toBe(true)
  own.desk.close()
})
