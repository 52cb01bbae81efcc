import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { file, newFolder } from '../http/command.js'
import { at, run } from '../http/gateways.js'
import { answered, end, interactionOf, outcome, sharedGateway, waitsFor } from './asking.js'

const shared = sharedGateway()
const guide = readFileSync(new URL('../../../docs/guides/cli.md', import.meta.url), 'utf8')
const documented = [...guide.matchAll(/^\| (\d+) +\| (.+?) +\|$/gm)].map(
  ([, code, means]) => [Number(code), means!] as const,
)

const approval = () => run(['request-approval', '--tool', 'deploy', '--data', shared().data])

/** One command for each exit code. */
const ways: Record<number, () => Promise<number | null>> = {
  0: async () => (await answered(shared(), approval(), { decision: 'approve' })).code,
  1: async () => (await outcome(['ask', '?', '--session', 'nowhere', '--data', shared().data])).code,
  2: async () => (await outcome(['ask', '--data', shared().data])).code,
  3: async () => (await answered(shared(), approval(), { decision: 'deny' })).code,
  4: async () => {
    const command = approval()
    await shared().call('DELETE', at(await interactionOf(shared(), await waitsFor(command))))
    return (await end(command)).code
  },
  5: async () => (await outcome(['ask', '?', '--timeout', '50ms', '--data', shared().data])).code,
  6: async () => (await outcome(['ask', '?', '--data', newFolder()])).code,
  7: async () => (await outcome(['ask', '?'], { ASKBACK_URL: shared().ready.url, ASKBACK_TOKEN: 'x' })).code,
  130: async () => {
    const command = approval()
    const env = { ASKBACK_URL: shared().ready.url, ASKBACK_TOKEN: shared().ready.token }
    const looking = run(['wait', await waitsFor(command)], env)
    await waitsFor(looking)
    return (await looking.kill('SIGINT')).code
  },
  141: () => withoutReader('stdout', ['sessions', '--data', shared().data]),
}

/** Closes stdout before the command writes to it. */
function withoutReader(which: 'stdout' | 'stderr', args: string[]): Promise<number | null> {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [file, ...args], { env: { PATH }, stdio: ['ignore', 'pipe', 'pipe'] })
  child[which].destroy()
  child[which === 'stdout' ? 'stderr' : 'stdout'].resume()
  return new Promise((resolve) => child.on('close', resolve))
}

describe('the exit codes', () => {
  it('are documented completely', () => {
    expect(documented.map(([code]) => code)).toEqual(Object.keys(ways).map(Number))
  })

  it.each(documented)('%i: %s', async (code) => {
    await shared().session()
    expect(await ways[code]!()).toBe(code)
  })
})

it('the answer is printed even if stderr is closed', async () => {
  const { data } = shared()
  const args = ['ask', '?', '--option', 'a', '--default', 'a', '--timeout', '100ms', '--data', data]
  expect(await withoutReader('stderr', args)).toBe(0)
})

it('every failure is one sentence without a stack trace', async () => {
  for (const args of [['nonsense'], ['ask', '--nonsense'], ['pending', '--data', '/dev/null/x']]) {
    const { stdout, stderr } = await outcome(args)
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^[^\n]+\.\n$/)
    expect(stderr).not.toMatch(/\bat \S+:\d+|Error:|node:/)
  }
})
