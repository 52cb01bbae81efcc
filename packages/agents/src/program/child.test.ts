import { once } from 'node:events'
import { expect, it } from 'vitest'
import { AgentChild } from './child.js'

const start = (script: string) =>
  new AgentChild({ command: '/bin/sh', args: ['-c', script], env: { PATH: process.env['PATH'] } })

it('a program is gone when what it said last is read', async () => {
  const child = start('echo no licence >&2; exit 3')
  const { stderr } = child.process
  stderr.pause()
  await once(child.process, 'exit')
  setImmediate(() => stderr.resume())
  await child.gone
  expect(child.ending).toBe(' ended: no licence')
})

it('a program that is not there is gone, too', async () => {
  const child = new AgentChild({ command: 'x', args: [], cwd: '/nowhere', env: {} })
  await child.gone
  expect(child.ending).toMatch(/^ ended/)
})

it('output that somebody else holds open keeps nobody waiting', async () => {
  // Without the mark and in a session of its own, it is not found when the program ends.
  const child = start('env -u ASKBACK_AGENT_RUN setsid sleep 20 & echo last; exit 0')
  let said = ''
  child.process.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  await child.outputRead
  expect(said).toBe('last\n')
  expect(child.process.stdout.readableEnded).toBe(false)
})
