import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { codexAgent, codexExecAgent } from '@askback/agents/codex'
import type { ApprovalRequest, FormRequest, QuestionRequest } from '@askback/protocol'
import { file } from '../../e2e/http/command.js'
import { startCodexEndpoint, type CodexEndpoint } from './codex-endpoint.js'
import { codexSession, run } from './codex-session.js'

let endpoint: CodexEndpoint
beforeAll(async () => {
  endpoint = await startCodexEndpoint()
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

const patch = (...lines: string[]) => ({
  tool: 'apply_patch',
  input: ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n'),
})
const done = { say: [{ text: 'Done.' }] }

describe.concurrent('approvals', () => {
  it('of a command show the whole command, and the model gets the reason of a denial', async () => {
    const when = 'run something bad'
    const expects = [/rejected/, 'The user denied this call, and says: not on a Friday']
    endpoint.add({ when, steps: [{ say: [run('touch bad')] }, { expects, ...done }] })
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'approval', toolName: 'exec_command' })
    const { input } = item!.request as ApprovalRequest
    expect(input).toEqual({ command: "/bin/bash -lc 'touch bad'", cwd: session.cwd })
    await session.answer(item!, { decision: 'deny', message: 'not on a Friday' })
    await session.until('turn_ended')
    expect((await session.of('tool_result'))[0]).toMatchObject({
      toolCallId: item!.toolCallId,
      isError: true,
    })
    expect(existsSync(join(session.cwd, 'bad'))).toBe(false)
    await session.close()
  })

  it('of a file change show the diff', async () => {
    const when = 'write and change a file'
    const add = patch('*** Add File: a.txt', '+one', '+two')
    const change = patch('*** Update File: a.txt', '@@', ' one', '-two', '+three')
    endpoint.add({ when, steps: [{ say: [add] }, { say: [change] }, { expects: ['Success'], ...done }] })
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    const [first] = await session.pending()
    const path = join(session.cwd, 'a.txt')
    expect(first!.toolName).toBe('apply_patch')
    expect((first!.request as ApprovalRequest).input).toEqual({
      changes: [{ path, kind: { type: 'add' }, diff: 'one\ntwo\n' }],
    })
    await session.answer(first!, { decision: 'approve' })
    await session.until('interaction_request', 2)
    const [second] = await session.pending()
    expect((second!.request as ApprovalRequest).input).toMatchObject({
      changes: [{ path, kind: { type: 'update' }, diff: expect.stringContaining('-two\n+three') as string }],
    })
    await session.answer(second!, { decision: 'approve' })
    await session.until('turn_ended')
    expect(await readFile(path, 'utf8')).toBe('one\nthree\n')
    await session.close()
  })

  it('in the mode acceptEdits are given only for changes inside the folder', async () => {
    const when = 'edit here and there'
    const outside = join(import.meta.dirname, 'nothing-here.txt')
    const steps = [
      { say: [patch('*** Add File: here.txt', '+x')] },
      { say: [patch(`*** Add File: ${outside}`, '+x')] },
      { expects: [/rejected/], ...done },
    ]
    endpoint.add({ when, steps })
    const session = await codexSession({ url: endpoint.url, mode: 'acceptEdits' })
    await session.say(when)
    const [item] = await session.pending()
    expect(JSON.stringify(item!.request)).toContain('nothing-here.txt')
    expect((await session.of('interaction_response'))[0]).toMatchObject({ via: 'policy' })
    await session.answer(item!, { decision: 'deny' })
    await session.until('turn_ended')
    expect(existsSync(outside)).toBe(false)
    await session.close()
  })

  it('with a changed command refuse the call and name the wanted one, because Codex accepts no other input', async () => {
    const when = 'run with care'
    const expects = ['another input', 'touch safe']
    endpoint.add({ when, steps: [{ say: [run('touch unsafe')] }, { expects, ...done }] })
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    const [item] = await session.pending()
    const updatedInput = { command: 'touch safe', cwd: session.cwd }
    await session.answer(item!, { decision: 'approve', updatedInput })
    await session.until('turn_ended')
    expect(existsSync(join(session.cwd, 'unsafe'))).toBe(false)
    await session.close()
  })

  it('[L10] that a restart has interrupted allow one call with the same input', async () => {
    const when = 'make it once'
    const again = { say: [run('touch once')] }
    endpoint.add(
      { when, steps: [again] },
      {
        when: 'exec_command again with exactly',
        steps: [again, { expects: ['exited with code 0'], ...done }],
      },
    )
    const first = await codexSession({ url: endpoint.url })
    await first.say(when)
    const [item] = await first.pending()
    await first.close()
    const second = await codexSession({ url: endpoint.url, before: first })
    await second.answer(item!, { decision: 'approve' })
    await second.until('turn_ended')
    expect(await second.of('interaction_request')).toHaveLength(1)
    expect(existsSync(join(second.cwd, 'once'))).toBe(true)
    await second.close()
  })
})

describe.concurrent('questions', () => {
  const question = (id: string, text: string) => ({
    id,
    header: 'Which',
    question: text,
    options: [
      { label: 'Red', description: 'like fire' },
      { label: 'Blue', description: 'like the sea' },
    ],
  })

  it('are answered with an option, or with a text', async () => {
    const when = 'ask for colours'
    const questions = [question('a', 'Front?'), question('b', 'Back?')]
    const expects = ['"a":{"answers":["Blue"]}', '"b":{"answers":["Green, a light one"]}']
    endpoint.add({
      when,
      steps: [{ say: [{ tool: 'request_user_input', input: { questions } }] }, { expects, ...done }],
    })
    const session = await codexSession({ url: endpoint.url })
    await session.say(when)
    const [item] = await session.pending()
    expect((item!.request as QuestionRequest).questions.map((one) => one.question)).toEqual([
      'Front?',
      'Back?',
    ])
    const answers = [{ selected: ['Blue'] }, { selected: [], other: 'Green, a light one' }]
    await session.answer(item!, { answers })
    await session.until('turn_ended')
    expect((await session.of('tool_call'))[0]).toMatchObject({
      toolCallId: item!.toolCallId,
      toolName: 'request_user_input',
    })
    await session.close()
  })

  it('that nobody answers give the model no answer', async () => {
    const when = 'ask in vain'
    const expects = ['Nobody answered in time', 'do not assume one']
    endpoint.add({
      when,
      steps: [
        { say: [{ tool: 'request_user_input', input: { questions: [question('a', 'Anyone?')] } }] },
        { expects, expectsNot: ['Red'], ...done },
      ],
    })
    const session = await codexSession({ url: endpoint.url, agent: { timeoutMs: 50 } })
    await session.say(when)
    await session.until('turn_ended')
    expect((await session.of('interaction_response'))[0]).toMatchObject({ settlement: 'timed_out' })
    await session.close()
  })
})

describe.concurrent('MCP servers', () => {
  const config = `[mcp_servers.hotel]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(join(import.meta.dirname, 'hotel.mjs'))}]\n`

  it('need an approval for each call, and can ask with a form', async () => {
    const when = 'book a room'
    endpoint.add({
      when,
      steps: [{ say: [{ tool: 'mcp__hotel__book', input: {} }] }, { expects: ['Ada'], ...done }],
    })
    const session = await codexSession({ url: endpoint.url, config })
    await session.say(when)
    const [approval] = await session.pending()
    expect(approval).toMatchObject({ kind: 'approval', toolName: 'mcp__hotel__book' })
    await session.answer(approval!, { decision: 'approve' })
    await session.until('interaction_request', 2)
    const [form] = await session.pending()
    expect(form).toMatchObject({ kind: 'form', toolCallId: approval!.toolCallId })
    expect((form!.request as FormRequest).message).toContain('Who stays')
    await session.answer(form!, { values: { name: 'Ada', nights: 3 } })
    await session.until('turn_ended')
    await session.close()
  })
})

describe.concurrent('the sandbox', () => {
  const knock = `node -e "require('http').get('http://127.0.0.1:9').on('error', (error) => console.log('knocked:', error.code))"`

  it('has no network, so that a command can reach neither Askback nor others', async () => {
    const when = 'knock at the door'
    endpoint.add({ when, steps: [{ say: [run(knock)] }, { expects: ['knocked: EPERM'], ...done }] })
    // The person's own configuration of Codex does not change that.
    const config = '[sandbox_workspace_write]\nnetwork_access = true\n'
    const session = await codexSession({ url: endpoint.url, mode: 'bypassPermissions', config })
    await session.say(when)
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    await session.close()
  })

  it('has the network if the option is on', async () => {
    const when = 'knock at the open door'
    endpoint.add({ when, steps: [{ say: [run(knock)] }, { expects: ['knocked: ECONNREFUSED'], ...done }] })
    const agent = { networkAccess: true }
    const session = await codexSession({ url: endpoint.url, mode: 'bypassPermissions', agent })
    await session.say(when)
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    await session.close()
  })

  it('makes the error of a script that asks explain the reason and the remedy', async () => {
    const when = 'ask from inside'
    const shells = { ASKBACK_URL: 'http://127.0.0.1:9', ASKBACK_SESSION: 's', ASKBACK_AGENT_TOKEN: 't' }
    const expects = ['sandbox blocks the network', 'agents.codex.networkAccess', 'exited with code 6']
    const say = [run(`"${process.execPath}" "${file}" ask "Which?"`)]
    endpoint.add({ when, steps: [{ say }, { expects, ...done }] })
    const session = await codexSession({ url: endpoint.url, mode: 'bypassPermissions', shells })
    await session.say(when)
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    await session.close()
  })
})

it.each([codexAgent, codexExecAgent])(
  'starts although its configuration has an approval policy that newer versions refuse: %o',
  async (by) => {
    const when = `go on with ${by.name}`
    endpoint.add({ when, steps: [done] })
    const config = 'approval_policy = "untrusted"'
    const session = await codexSession({ url: endpoint.url, by, config })
    await session.say(when)
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    await session.close()
  },
)

describe.concurrent('plans', () => {
  const propose = (text: string) => ({ say: [{ text: `<proposed_plan>\n${text}\n</proposed_plan>\n` }] })

  it('are reviewed, changed, approved, and carried out in the same thread', async () => {
    const when = 'plan a trip'
    endpoint.add(
      { when, steps: [propose('1. Walk')] },
      { when: 'wants the plan changed: by train', steps: [propose('1. Take the train')] },
      {
        when: 'approved this plan. Carry it out.\n\n1. Take the train',
        steps: [{ say: [{ text: 'There.' }] }],
      },
    )
    const session = await codexSession({ url: endpoint.url, mode: 'plan' })
    await session.say(when)
    const [first] = await session.pending()
    expect(first).toMatchObject({ kind: 'plan_review', request: { plan: '1. Walk\n' } })
    await session.answer(first!, { decision: 'adjust', feedback: 'by train' })
    await session.until('interaction_request', 2)
    const [second] = await session.pending()
    await session.answer(second!, { decision: 'edit' })
    await session.until('turn_ended')
    expect((await session.host.snapshot(session.sessionId)).session.permissionMode).toBe('acceptEdits')
    expect((await session.of('text')).map(({ text }) => text)).toEqual(['There.'])
    expect(await session.of('agent_session')).toHaveLength(1)
    await session.close()
  })

  it('are carried out in a fresh thread if the person chooses so', async () => {
    const when = 'plan a meal'
    endpoint.add(
      { when, steps: [propose('1. Boil water')] },
      {
        when: 'Carry it out.\n\n1. Boil water',
        steps: [{ expectsNot: [when], say: [{ text: 'Boiling.' }] }],
      },
    )
    const session = await codexSession({ url: endpoint.url, mode: 'plan' })
    await session.say(when)
    const [item] = await session.pending()
    await session.answer(item!, { decision: 'clean_edit' })
    await session.until('turn_ended')
    expect(await session.of('agent_session')).toHaveLength(2)
    expect(JSON.stringify(endpoint.of('Carry it out.\n\n1. Boil water'))).not.toContain(when)
    await session.close()
  })
})
