import { describe, expect, it } from 'vitest'
import { newFolder } from './command.js'
import { run, serve } from './gateways.js'

describe('what cannot be served ends with one sentence', () => {
  it.each<[string, string[], RegExp]>([
    [
      'a flag that is none',
      ['serve', '--nonsense'],
      /^Unknown option '--nonsense'\. See askback --help\.\n$/,
    ],
    ['a port that is none', ['serve', '--port', 'many'], /^--port is a number/],
    ['a timeout that is none', ['serve', '--timeout', 'soon'], /^--timeout is a time/],
    ['a command that is none', ['sevre'], /^There is no command "sevre"/],
    [
      'a folder that cannot be',
      ['serve', '--data', '/dev/null/x'],
      /^The data folder \/dev\/null\/x cannot be used/,
    ],
    [
      'a folder that is a file',
      ['serve', '--data', '/dev/null'],
      /^The data folder \/dev\/null cannot be used/,
    ],
    [
      'an address of another machine',
      ['serve', '--host', '192.0.2.1', '--insecure', '--data', newFolder()],
      /^Others can reach 192\.0\.2\.1/,
    ],
    [
      'settings that are not there',
      ['serve', '--config', '/nowhere', '--data', newFolder()],
      /^The settings \/nowhere/,
    ],
  ])('%s', async (_, args, sentence) => {
    const command = run(args)
    expect((await command.ended).code).not.toBe(0)
    expect(command.stdout).toBe('')
    expect(command.stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(command.stderr).toMatch(sentence)
  })

  it('a port that is taken', async () => {
    const { ready } = await serve()
    const command = run(['serve', '--port', new URL(ready.url).port, '--data', newFolder()])
    expect((await command.ended).code).not.toBe(0)
    expect(command.stderr).toMatch(/^Port \d+ on 127\.0\.0\.1 is taken\. .*\n$/)
  })

  it('a database that another gateway uses, with the name of its process', async () => {
    const { ready, data } = await serve()
    const command = run(['serve', '--port', '0', '--data', data, '--json'])
    expect((await command.ended).code).not.toBe(0)
    expect(command.stderr).toBe(
      `A gateway runs here already, at ${ready.url} (process ${ready.pid}). Open it with askback open, or start another with --data DIR.\n`,
    )
    expect((await fetch(`${ready.url}/readyz`)).status).toBe(200)
  })

  it('an address that others can reach, without a token; with one it listens', async () => {
    const data = newFolder()
    const refused = run(['serve', '--host', '0.0.0.0', '--insecure', '--port', '0', '--data', data])
    expect((await refused.ended).code).not.toBe(0)
    expect(refused.stderr).toMatch(/^Others can reach 0\.0\.0\.0: set ASKBACK_TOKEN/)
    const env = { ASKBACK_TOKEN: 'a-persons-token', ASKBACK_AGENT_TOKEN: 'an-agents-token' }
    const gateway = await serve({ data, args: ['--host', '0.0.0.0', '--insecure'], env })
    expect((await gateway.call('GET', '/api/sessions')).status).toBe(200)
    const foreign = await fetch(`${gateway.ready.url}/healthz`, {
      headers: { origin: 'http://evil.example' },
    })
    expect(foreign.status).toBe(403)
  })

  it('one token for people and agents', async () => {
    const command = run(['serve', '--data', newFolder()], { ASKBACK_TOKEN: 'x', ASKBACK_AGENT_TOKEN: 'x' })
    expect((await command.ended).code).not.toBe(0)
    expect(command.stderr).toMatch(/^ASKBACK_TOKEN and ASKBACK_AGENT_TOKEN are the same/)
  })
})
