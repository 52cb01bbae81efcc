import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { at, portToKeep, serve } from '../http/gateways.js'
import { interactionOf, picks, sharedGateway } from './asking.js'
import { approvedToAnother, losesFirstAnswer } from './losing-proxy.js'
import { call, connect, nextPending, respond, sharedClient, type How } from './mcp-clients.js'

const shared = sharedGateway()
const database = {
  question: 'Which database?',
  header: 'DB',
  options: [{ label: 'Postgres' }, { label: 'SQLite', description: 'A file' }],
}

describe.each<How>(['stdio', 'http'])('the official MCP client by %s', (how) => {
  const client = sharedClient(how, shared)

  it('finds the tools', async () => {
    const { tools } = await client().listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'ask_user',
      'request_approval',
      'review_plan',
      'permission_prompt',
      'wait_for_answer',
    ])
  })

  it('learns that asking changes nothing, and when to use which tool', async () => {
    const harmless = {
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: false,
    }
    const { tools } = await client().listTools()
    expect(tools.map(({ name, annotations }) => [name, annotations])).toEqual([
      ['ask_user', harmless],
      ['request_approval', harmless],
      ['review_plan', harmless],
      ['permission_prompt', undefined],
      ['wait_for_answer', harmless],
    ])
    const instructions = client().getInstructions()
    for (const name of ['ask_user', 'request_approval', 'review_plan', 'wait_for_answer'])
      expect(instructions).toContain(name)
  })

  it('asks a question, and gets the answer', async () => {
    const asked = call(client(), 'ask_user', { questions: [database] })
    const item = await nextPending(shared())
    expect(item).toMatchObject({ kind: 'question', toolName: 'ask_user', openedBy: 'agents' })
    await respond(shared(), item, { answers: [{ selected: ['SQLite'], note: 'for now' }] })
    expect(await asked).toEqual({
      text: '"Which database?" = "SQLite" (note: for now)',
      interaction: {
        interactionId: item.interactionId,
        settlement: 'answered',
        answer: { answers: [{ selected: ['SQLite'], note: 'for now' }] },
      },
      isError: false,
    })
  })

  it('requests approval: given, given with changes, denied', async () => {
    const ask = async (answer: object) => {
      const asked = call(client(), 'request_approval', { tool: 'deploy', input: { to: 'production' } })
      const item = await nextPending(shared())
      expect(item).toMatchObject({
        kind: 'approval',
        toolName: 'deploy',
        request: { input: { to: 'production' } },
      })
      await respond(shared(), item, answer)
      return (await asked).text
    }
    expect(await ask({ decision: 'approve' })).toBe('Approved, this once, exactly as asked.')
    expect(await ask({ decision: 'approve', updatedInput: { to: 'test' } })).toContain('{"to":"test"}')
    expect(await ask({ decision: 'deny', message: 'Not on a Friday.' })).toContain('Not on a Friday.')
  })

  it('has a plan reviewed', async () => {
    const ask = async (answer: object) => {
      const asked = call(client(), 'review_plan', { plan: '# Plan' })
      await respond(shared(), await nextPending(shared()), answer)
      return (await asked).text
    }
    expect(await ask({ decision: 'adjust', feedback: 'Smaller.' })).toBe(
      'The user wants the plan changed: Smaller.',
    )
    expect(await ask({ decision: 'edit' })).toBe('The plan is accepted. Edits need no further approval.')
  })

  it('never gets an answer that nobody gave', async () => {
    const asked = call(client(), 'ask_user', { questions: [database] })
    await shared().call('DELETE', at(await nextPending(shared())))
    expect(await asked).toMatchObject({
      text: expect.stringContaining('do not assume one') as unknown,
      interaction: { settlement: 'cancelled' },
    })
  })

  it('cancels what it no longer waits for', async () => {
    const stop = new AbortController()
    const asked = call(client(), 'ask_user', { questions: [database] }, { signal: stop.signal })
    const { interactionId } = await nextPending(shared())
    stop.abort()
    await expect(asked).rejects.toThrow('abort')
    await expect
      .poll(() => interactionOf(shared(), interactionId))
      .toMatchObject({ status: 'settled', settlement: 'cancelled' })
  })

  it('is anchored to the call that Claude Code names', async () => {
    const asked = call(
      client(),
      'ask_user',
      { questions: [database] },
      { meta: { 'claudecode/toolUseId': 'toolu_1' } },
    )
    const item = await nextPending(shared())
    expect(item).toMatchObject({ toolCallId: 'toolu_1', anchor: 'exact' })
    await respond(shared(), item, picks('SQLite'))
    await asked
  })

  it('gets invalid input as an error of the tool', async () => {
    const repeated = { ...database, options: [{ label: 'a' }, { label: 'a' }] }
    expect(await call(client(), 'ask_user', { questions: [repeated] })).toMatchObject({
      isError: true,
      text: expect.stringContaining('repeats the label') as unknown,
    })
    expect(await call(client(), 'ask_user', {})).toMatchObject({ isError: true })
    await expect(call(client(), 'delete_everything', {})).rejects.toThrow(
      'There is no tool delete_everything.',
    )
  })

  it('decides for Claude Code whether a tool may run', async () => {
    const decide = async (given: object, answer: object) => {
      const asked = call(client(), 'permission_prompt', { ...given })
      await respond(shared(), await nextPending(shared()), answer)
      return JSON.parse((await asked).text) as unknown
    }
    const bash = { tool_name: 'Bash', input: { command: 'make' }, tool_use_id: 'toolu_2' }
    expect(await decide(bash, { decision: 'approve' })).toEqual({
      behavior: 'allow',
      updatedInput: bash.input,
    })
    expect(await decide(bash, { decision: 'approve', updatedInput: { command: 'ls' } })).toEqual({
      behavior: 'allow',
      updatedInput: { command: 'ls' },
    })
    expect(await decide(bash, { decision: 'deny', message: 'No.' })).toEqual({
      behavior: 'deny',
      message: expect.stringContaining('No.') as string,
    })
    const questions = [{ ...database, multiSelect: false }]
    expect(await decide({ tool_name: 'AskUserQuestion', input: { questions } }, picks('SQLite'))).toEqual({
      behavior: 'allow',
      updatedInput: { questions, answers: { 'Which database?': 'SQLite' } },
    })
    const plan = { tool_name: 'ExitPlanMode', input: { plan: '# Plan' } }
    expect(await decide(plan, { decision: 'edit' })).toEqual({
      behavior: 'allow',
      updatedInput: plan.input,
      updatedPermissions: [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }],
    })
  })
})

it('gets progress while it waits for a person, which prevents its timeout', async () => {
  const client = await connect('stdio', shared(), ['--progress', '200ms'])
  stopTime()
  let progressCount = 0
  const onprogress = () => {
    progressCount += 1
    vi.advanceTimersByTime(1000)
  }
  const options = { timeout: 1500, resetTimeoutOnProgress: true, onprogress }
  const asked = call(client, 'ask_user', { questions: [database] }, options)
  const item = await nextPending(shared())
  await expect.poll(() => progressCount).toBeGreaterThan(3)
  await respond(shared(), item, picks('SQLite'))
  expect((await asked).text).toContain('SQLite')
})

it('gets progress over HTTP at once', async () => {
  const client = await connect('http', shared())
  let progressCount = 0
  const asked = call(
    client,
    'ask_user',
    { questions: [database] },
    { onprogress: () => (progressCount += 1) },
  )
  const item = await nextPending(shared())
  await expect.poll(() => progressCount).toBeGreaterThan(0)
  await respond(shared(), item, picks('SQLite'))
  await asked
})

it('cancels what it asked when its client disconnects', async () => {
  const client = await connect('stdio', shared())
  const asked = call(client, 'ask_user', { questions: [database] }).catch(() => 'gone')
  const { interactionId } = await nextPending(shared())
  // Or it would end a server by force that takes long.
  stopTime()
  await client.close()
  expect(await asked).toBe('gone')
  await expect.poll(() => interactionOf(shared(), interactionId)).toMatchObject({ settlement: 'cancelled' })
})

it('says that no gateway runs, and allows nothing', async () => {
  const gateway = await serve({ port: await portToKeep() })
  const client = await connect('stdio', gateway)
  await gateway.stop('SIGKILL')
  expect(await call(client, 'ask_user', { questions: [database] })).toMatchObject({
    isError: true,
    text: 'Nobody could be asked: The gateway cannot be reached. Is askback serve running?',
  })
  const { text } = await call(client, 'permission_prompt', { tool_name: 'Bash', input: {} })
  expect(JSON.parse(text)).toMatchObject({ behavior: 'deny' })
})

/** For the client alone: the gateway and the server have processes of their own. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

describe('[L10] an approval that another process claimed first', () => {
  it.each(['request_approval', 'permission_prompt'])('is refused as uncertain for %s', async (tool) => {
    const url = await losesFirstAnswer(shared(), approvedToAnother(shared()))
    const client = await connect('stdio', shared(), [], { ASKBACK_URL: url })
    const given =
      tool === 'request_approval'
        ? { tool: 'deploy', input: {} }
        : { tool_name: 'Bash', input: { command: 'make' } }
    const { text, interaction } = await call(client, tool, given)
    expect(text).toContain('may have run already')
    expect(text).not.toContain('allow')
    expect(interaction).toMatchObject({ settlement: 'approved', delivered: true })
  })
})
