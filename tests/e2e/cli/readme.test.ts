import type { Interaction } from '@askback/protocol'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../architecture/workspace.js'
import { newFolder } from '../http/command.js'
import { at } from '../http/gateways.js'
import { picks, sharedGateway } from './asking.js'

const shared = sharedGateway()

it('the program in the README of the command asks a person and prints what the README says', async () => {
  const gateway = shared()
  const readme = readFileSync(join(root, 'packages/cli/README.md'), 'utf8')
  const sample = /```ts\n(.*?)```/su.exec(readme)?.[1] ?? ''
  const expected = /console\.log\(.*\) \/\/ (.*)\n/u.exec(sample)?.[1]
  const folder = newFolder()
  symlinkSync(join(root, 'packages/cli/bin/askback.js'), join(folder, 'askback'))
  writeFileSync(join(folder, 'sample.mjs'), sample)

  const { url, agentToken } = gateway.ready
  const child = spawn(process.execPath, ['sample.mjs'], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: [folder, process.env['PATH']].join(delimiter),
      ASKBACK_URL: url,
      ASKBACK_AGENT_TOKEN: agentToken,
    },
  })
  let printed = ''
  child.stdout.on('data', (data) => (printed += String(data)))
  const closed = once(child, 'close')
  const pending = async () =>
    (await gateway.call<{ interactions: Interaction[] }>('GET', '/api/interactions')).body.interactions[0]
  await expect.poll(pending).toBeDefined()
  const item = await pending()
  await gateway.call('POST', `${at(item!)}/response`, { body: { answer: picks('SQLite') } })

  expect(await closed).toEqual([0, null])
  expect(printed).toBe(`${expected}\n`)
  expect(expected).toBe('SQLite')
})
