import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from './command.js'
import { run, serve } from './gateways.js'

async function doctor(data: string): Promise<{ code: number | null; checks: Record<string, unknown> }> {
  const command = run(['doctor', '--data', data, '--json'])
  const { code } = await command.ended
  const { checks } = JSON.parse(command.stdout) as { checks: { name: string; ok: boolean | null }[] }
  return { code, checks: Object.fromEntries(checks.map(({ name, ok }) => [name, ok])) }
}

it('says what runs, and which agents can', async () => {
  const { data } = await serve()
  const { code, checks } = await doctor(data)
  expect(code).toBe(0)
  expect(checks).toMatchObject({ node: true, 'data folder': true, gateway: true, 'Demo (scripted)': true })
  expect(checks).toHaveProperty('Claude')
})

it('finds a gateway that does not run, and a data folder that others can read', async () => {
  const data = newFolder()
  expect(await doctor(data)).toMatchObject({ code: 0, checks: { gateway: null } })
  chmodSync(data, 0o755)
  expect(await doctor(data)).toMatchObject({ code: 1, checks: { 'data folder': false } })
})

it.each<[string, string[], Record<string, string>, object]>([
  ['--claude', ['--claude', '/nowhere/claude'], { ASKBACK_CLAUDE: '/bin/sh' }, {}],
  ['ASKBACK_CLAUDE', [], { ASKBACK_CLAUDE: '/nowhere/claude' }, { executable: '/bin/sh' }],
  ['config.json', [], {}, { executable: '/nowhere/claude' }],
])('looks for the Claude Code that %s names', async (_name, args, env, claude) => {
  const data = newFolder()
  chmodSync(data, 0o700)
  writeFileSync(join(data, 'config.json'), JSON.stringify({ agents: { claude } }))
  const command = run(['doctor', '--data', data, ...args], env)
  await command.ended
  expect(command.stdout).toMatch(/^– Claude +There is no Claude Code to run at \/nowhere\/claude\.$/m)
})

it('says where the settings do not fit', async () => {
  const data = newFolder()
  writeFileSync(join(data, 'config.json'), '{ "agents": { "claude": { "executable": 1 } } }')
  const command = run(['doctor', '--data', data])
  expect(await command.ended).toMatchObject({ code: 1 })
  expect(command.stdout).toMatch(/^✗ settings .*do not fit at agents\.claude\.executable/m)
})

it('tells a person in lines', async () => {
  const command = run(['doctor', '--data', newFolder()])
  await command.ended
  expect(command.stdout).toMatch(/^✓ node +\d+\.\d+/m)
  expect(command.stdout).toMatch(/^– gateway +does not run: start it with askback serve$/m)
})
