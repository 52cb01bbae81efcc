import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from './command.js'
import { portToKeep, run, serve, type RunningGateway } from './gateways.js'
import { logIn, type Login } from './log-in.js'

async function token(gateway: RunningGateway, ...args: string[]) {
  const command = run(['token', ...args, '--data', gateway.data])
  const { code } = await command.ended
  return { code, stdout: command.stdout, stderr: command.stderr }
}

it('creates a token for a person and prints only that, lists people, and revokes', async () => {
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

it('prints only the token for agents, whether or not a gateway runs', async () => {
  const gateway = await serve()
  const { agentToken } = gateway.ready
  expect(await token(gateway, 'agent')).toEqual({ code: 0, stdout: `${agentToken}\n`, stderr: '' })
  expect(await token(gateway, 'agent', '--json')).toMatchObject({
    stdout: `${JSON.stringify({ agentToken })}\n`,
  })
  await gateway.stop('SIGTERM')
  expect(await token(gateway, 'agent')).toMatchObject({ code: 0, stdout: `${agentToken}\n` })

  const fromEnv = await serve({
    env: { ASKBACK_TOKEN: 'a-persons-token', ASKBACK_AGENT_TOKEN: 'an-agents-token' },
  })
  expect(await token(fromEnv, 'agent')).toMatchObject({ code: 0, stdout: 'an-agents-token\n' })
})

it('says what to do if no gateway has created a token for agents', async () => {
  const folder = newFolder()
  const command = run(['token', 'agent', '--data', folder])
  expect(await command.ended).toMatchObject({ code: 6 })
  expect([command.stdout, command.stderr]).toEqual([
    '',
    `There is no token for agents in ${folder} yet. Start a gateway with askback serve.\n`,
  ])
})

it('askback open creates a link for another browser', async () => {
  const gateway = await serve()
  const command = run(['open', '--print', '--data', gateway.data])
  expect((await command.ended).code).toBe(0)
  const { headers } = await logIn(command.stdout.trim())
  expect((await fetch(`${gateway.ready.url}/api/sessions`, { headers })).status).toBe(200)
})

it('askback logout signs all browsers of a person out, and leaves their tokens', async () => {
  const gateway = await serve()
  const { token: grace } = (
    await gateway.call<{ token: string }>('POST', '/api/tokens', { body: { person: 'Grace' } })
  ).body
  const link = async (as?: string) =>
    (await gateway.call<{ openUrl: string }>('POST', '/api/logins', as === undefined ? {} : { as })).body
      .openUrl
  const may = async ({ headers }: Login) =>
    (await fetch(`${gateway.ready.url}/api/sessions`, { headers })).status
  const [one, two, theirs] = [
    await logIn(await link()),
    await logIn(await link()),
    await logIn(await link(grace)),
  ]
  const logOut = async (...args: string[]) => {
    const command = run(['logout', ...args, '--data', gateway.data])
    return { ...(await command.ended), stdout: command.stdout, stderr: command.stderr }
  }

  expect(await logOut()).toMatchObject({ code: 0, stderr: '' })
  expect([await may(one), await may(two), await may(theirs)]).toEqual([401, 401, 200])
  expect(await logOut('Grace')).toMatchObject({ code: 0, stderr: '' })
  expect(await may(theirs)).toBe(401)
  expect((await gateway.call('GET', '/api/sessions', { as: grace })).status).toBe(200)
  expect(await logOut('Nobody')).toMatchObject({ stdout: '', stderr: 'There is no person "Nobody".\n' })
  expect((await logOut('a', 'b')).code).toBe(2)
})

it('replacing the owner’s token signs the owner’s browsers out', async () => {
  const data = newFolder()
  const first = await serve({ data })
  const { headers } = await logIn(first.ready.openUrl)
  await first.stop('SIGTERM')
  rmSync(join(data, 'tokens.json'))
  const { ready } = await serve({ data })
  expect(ready.token).not.toBe(first.ready.token)
  expect((await fetch(`${ready.url}/api/sessions`, { headers })).status).toBe(401)
})

it('needs a running gateway', async () => {
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
    expect(command.stderr).toMatch(/^Usage: askback token create --person NAME/)
  },
)

it.each([['--help'], ['--version'], ['pending', '--help'], ['help', 'ask'], ['serve', '-h']])(
  'answers %s %s',
  async (...args) => {
    const command = run(args)
    expect((await command.ended).code).toBe(0)
    expect(command.stdout).not.toBe('')
  },
)
