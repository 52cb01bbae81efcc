import { expect, it } from 'vitest'
import { newFolder } from './command.js'
import { portToKeep, run, serve, type RunningGateway } from './gateways.js'

async function token(gateway: RunningGateway, ...args: string[]) {
  const command = run(['token', ...args, '--data', gateway.data])
  const { code } = await command.ended
  return { code, stdout: command.stdout, stderr: command.stderr }
}

it('makes a token for a person and prints it alone, lists people, and revokes', async () => {
  const gateway = await serve()
  const made = await token(gateway, 'create', '--person', 'Grace')
  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect(made.stdout).toMatch(/^\S+\n$/)
  const as = made.stdout.trim()
  expect((await gateway.call('GET', '/api/sessions', { as })).status).toBe(200)

  const listed = await token(gateway, 'list')
  expect(listed.stdout.split('\n').map((line) => line.split('\t', 1)[0])).toEqual(['owner', 'Grace', ''])
  expect(listed.stdout).not.toContain(as)

  expect(await token(gateway, 'revoke', 'Grace')).toEqual({ code: 0, stdout: '', stderr: '' })
  expect((await gateway.call('GET', '/api/sessions', { as })).status).toBe(401)
  const again = await token(gateway, 'revoke', 'Grace')
  expect(again.code).not.toBe(0)
  expect(again.stderr).toBe('There is no token for "Grace".\n')
})

it('works when the gateway has its tokens from the environment', async () => {
  const env = { ASKBACK_TOKEN: 'a-persons-token', ASKBACK_AGENT_TOKEN: 'an-agents-token' }
  const gateway = await serve({ env })
  expect((await token(gateway, 'create', '--person', 'Grace')).code).toBe(0)
})

it('askback open makes a link for another browser', async () => {
  const gateway = await serve()
  const command = run(['open', '--print', '--data', gateway.data])
  expect((await command.ended).code).toBe(0)
  expect((await fetch(command.stdout.trim(), { redirect: 'manual' })).status).toBe(303)
})

it('needs a gateway that runs', async () => {
  const data = newFolder()
  const sentence = `No gateway runs on ${data}. Start one with askback serve.\n`
  const never = run(['token', 'list', '--data', data])
  expect((await never.ended).code).not.toBe(0)
  expect(never.stderr).toBe(sentence)
  const gateway = await serve({ data, port: await portToKeep() })
  await gateway.stop('SIGKILL')
  const dead = await token(gateway, 'list')
  expect(dead).toMatchObject({
    stdout: '',
    stderr: 'The gateway cannot be reached. Is askback serve running?\n',
  })
})

it.each([[], ['create'], ['create', 'Grace'], ['revoke'], ['list', 'x'], ['nonsense']])(
  'explains itself for token %s',
  async (...args) => {
    const command = run(['token', ...args])
    expect((await command.ended).code).toBe(2)
    expect(command.stderr).toMatch(/^It is askback token create --person NAME/)
  },
)

it.each(['--help', '--version'])('answers %s', async (flag) => {
  const command = run([flag])
  expect((await command.ended).code).toBe(0)
  expect(command.stdout).not.toBe('')
})
