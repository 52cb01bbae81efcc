import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from '../http/command.js'
import { portToKeep, serve } from '../http/gateways.js'
import { inShell, outcome, sharedGateway } from './asking.js'

const shared = sharedGateway()

const oneSentence = /^[^\n]+\.\n$/

it.each([
  [['ask']],
  [['ask', 'One?', 'Two?']],
  [['ask', 'Which?', '--unknown']],
  [['ask', 'Which?', '--option', 'a', '--option', 'a']],
  [['ask', 'Which?', '--timeout', 'soon']],
  [['ask', 'Which?', '--default', 'a', '--default', 'b']],
  [['form']],
  [['form', '/nowhere/schema.json']],
  [['request-approval', '--input', '{}']],
  [['request-approval', '--tool', 'deploy', '--input', '{broken']],
  [['wait']],
  [['answer']],
  [['send', 'session']],
  [['audit', '--format', 'xml']],
  [['ask', 'Which?', '--url', 'nowhere']],
])('%j is used wrongly: exits with 2, and prints the usage', async (args) => {
  const { code, stdout, stderr } = await outcome([...args, '--data', newFolder()])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(oneSentence)
})

it.each([
  ['', 'The schema is missing: stdin is empty. See askback --help.\n'],
  ['{', /^The schema in stdin is no JSON: .+\. See askback --help\.\n$/],
])('a schema %j on stdin is refused with 2', async (stdin, says) => {
  const ended = await outcome(['form', '-', '--data', newFolder()], {}, stdin)
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toMatch(says)
})

it('a closed stdin is refused with 2', async () => {
  expect(await outcome(['form', '-', '--data', newFolder()])).toMatchObject({ code: 2 })
})

it('an invalid schema is refused by the gateway with 2', async () => {
  const { data } = shared()
  const file = join(newFolder(), 'schema.json')
  writeFileSync(file, '{"fields":[{"name":"a","type":"password"}]}')
  const { code, stderr } = await outcome(['form', file, '--data', data])
  expect(code).toBe(2)
  expect(stderr).toMatch(oneSentence)
})

it.each([['ask', 'Which?'], ['wait', 'id'], ['pending'], ['answer', 'id', 'yes'], ['sessions'], ['audit']])(
  'without a gateway %s ends with 6',
  async (...args) => {
    const folder = newFolder()
    expect(await outcome([...args, '--data', folder])).toEqual({
      code: 6,
      stdout: '',
      stderr: `No gateway runs on ${folder}. Start one with askback serve.\n`,
    })
  },
)

it('a gateway that has stopped is not waited for: exits with 6', async () => {
  const { data, ready, command } = await serve({ port: await portToKeep() })
  await command.kill('SIGKILL')
  const says = 'The gateway cannot be reached. Is askback serve running?\n'
  expect(await outcome(['ask', 'Which?', '--data', data])).toEqual({ code: 6, stdout: '', stderr: says })
  const env = { ASKBACK_URL: ready.url, ASKBACK_AGENT_TOKEN: ready.agentToken }
  expect(await outcome(['ask', 'Which?'], env)).toEqual({ code: 6, stdout: '', stderr: says })
})

it('a credential that is refused, or missing, ends with 7', async () => {
  const gateway = shared()
  const sessionId = await gateway.session()
  const wrong = inShell(gateway, sessionId, { ASKBACK_AGENT_TOKEN: 'wrong' })
  expect(await outcome(['ask', 'Which?'], wrong)).toEqual({
    code: 7,
    stdout: '',
    stderr:
      'This token is not valid here. Set ASKBACK_AGENT_TOKEN to a token of this gateway; askback token agent prints one.\n',
  })
  const person = { ASKBACK_URL: gateway.ready.url, ASKBACK_TOKEN: 'wrong' }
  expect((await outcome(['pending'], person)).stderr).toBe(
    'This token is not valid here. Set ASKBACK_TOKEN to your token of this gateway, or unset it to use the gateway that runs here.\n',
  )
  const env = { ASKBACK_URL: gateway.ready.url, XDG_DATA_HOME: newFolder() }
  expect(await outcome(['ask', 'Which?'], env)).toMatchObject({
    code: 7,
    stderr: expect.stringContaining('Set ASKBACK_AGENT_TOKEN') as unknown,
  })
})

it.each([
  [['wait', 'nope'], 'There is no interaction nope.\n'],
  [['answer', 'nope', 'yes'], 'There is no interaction nope. askback pending lists what waits.\n'],
  [['send', 'nope', 'Hi'], 'There is no session nope. askback sessions lists them.\n'],
  [['attach', 'nope'], 'There is no session nope. askback sessions lists them.\n'],
])('%j, which does not exist, exits with 1 and says where to look', async (args, stderr) => {
  const { data } = shared()
  expect(await outcome([...args, '--data', data])).toMatchObject({ code: 1, stderr })
})
