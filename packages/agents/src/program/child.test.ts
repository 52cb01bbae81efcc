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

it('output that another process holds open does not delay outputRead for ever', async () => {
  // Without the mark and in a session of its own, it is not found when the program ends. The program
  // ends only after the other process runs: before that it still carries the mark and would be killed.
  const child = start("env -u ASKBACK_AGENT_RUN setsid sh -c 'echo last; exec sleep 20' & read line; exit 0")
  let output = ''
  child.process.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    child.process.stdin.write('go on\n')
  })
  await child.outputRead
  expect(output).toBe('last\n')
  expect(child.process.stdout.readableEnded).toBe(false)
})
