import { expect, it } from 'vitest'
import { newFolder } from '../http/command.js'
import { portToKeep, run, serve } from '../http/gateways.js'
import { end, outcome, sharedGateway } from './asking.js'
import { approvedToAnother, losesFirstAnswer } from './losing-proxy.js'
import { nextPending, respond } from './mcp-clients.js'

const shared = sharedGateway()
const hook = (data: string) => ['hook', 'claude-code', '--data', data]
const use = (event: string, more: object = {}) =>
  JSON.stringify({
    hook_event_name: event,
    session_id: 's1',
    cwd: '/work/shop',
    tool_name: 'Bash',
    tool_input: { command: 'make' },
    ...more,
  })

it('prints nothing when no gateway runs, so that Claude Code asks by itself', async () => {
  for (const event of ['PreToolUse', 'PermissionRequest', 'PostToolUse']) {
    expect(await outcome(hook(newFolder()), {}, use(event, { tool_use_id: 't' }))).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    })
  }
  const gone = await serve({ port: await portToKeep() })
  await gone.stop('SIGKILL')
  expect(await outcome(hook(gone.data), {}, use('PermissionRequest'))).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  })
})

it('prints nothing inside an agent that the gateway runs, which asks by itself', async () => {
  const ended = await outcome(hook(shared().data), { ASKBACK_SESSION: 'x' }, use('PermissionRequest'))
  expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })
})

it.each(['', '{', 'null', '[]', '{"hook_event_name":"PreToolUse"}'])(
  'with %j on stdin it blocks nothing',
  async (stdin) => {
    const { code, stdout, stderr } = await outcome(hook(shared().data), {}, stdin)
    // 2 would block the tool.
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^Askback: [^\n]+\n$/)
  },
)

it('a refused credential blocks nothing, and is reported', async () => {
  const env = { ASKBACK_URL: shared().ready.url, ASKBACK_AGENT_TOKEN: 'wrong' }
  expect(await outcome(['hook', 'claude-code'], env, use('PermissionRequest'))).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^Askback: This token is not valid here\. Set ASKBACK_AGENT_TOKEN .+\n$/,
    ) as unknown,
  })
})

it('of two equal calls, asks at the one that has not ended', async () => {
  const { data } = shared()
  const call = (event: string, id: string) =>
    outcome(hook(data), {}, use(event, { tool_use_id: id, tool_response: 'ok' }))
  await call('PreToolUse', 'first')
  await call('PostToolUse', 'first')
  await call('PreToolUse', 'second')
  const asks = run(hook(data), {}, { stdin: use('PermissionRequest') })
  const item = await nextPending(shared())
  expect(item).toMatchObject({ toolCallId: 'second' })
  await respond(shared(), item, { decision: 'approve', updatedInput: { command: 'make test' } })
  const { code, stdout } = await end(asks)
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual({
    hookSpecificOutput: {
      hookEventName: 'PermissionRequest',
      decision: { behavior: 'allow', updatedInput: { command: 'make test' } },
    },
  })
})

it('[L10] an approval that another process claimed first is uncertain: the tool may have run, and does not run again', async () => {
  const gateway = shared()
  const url = await losesFirstAnswer(gateway, approvedToAnother(gateway))
  const env = { ASKBACK_URL: url, ASKBACK_AGENT_TOKEN: gateway.ready.agentToken }
  const { code, stdout } = await outcome(['hook', 'claude-code'], env, use('PermissionRequest'))
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    hookSpecificOutput: {
      decision: { behavior: 'deny', message: expect.stringContaining('may have run already') as unknown },
    },
  })
})

it('prints nothing when nobody answers in time, which is no denial', async () => {
  const gateway = await serve({ args: ['--timeout', '300ms'] })
  expect(await outcome(hook(gateway.data), {}, use('PermissionRequest'))).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  })
})

it('the hook is not installed before a person agrees', async () => {
  const env = { CLAUDE_CONFIG_DIR: newFolder() }
  expect(await outcome(['install', 'claude-code'], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('add --yes to write it') as unknown,
  })
  expect(await outcome(['uninstall', 'claude-code'], env)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('There is nothing of Askback') as unknown,
  })
  expect(await outcome(['install', 'emacs'], env)).toMatchObject({ code: 2 })
})
