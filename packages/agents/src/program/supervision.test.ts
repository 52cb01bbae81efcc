import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { letItEnd, supervised } from './supervision.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'askback-supervision-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** Writes down what it reads, and that its input has ended. */
const program = (file: string) => [
  '-c',
  `echo $$; while read -r line; do echo "$line" >>${file}; done; echo EOF >>${file}; exit 7`,
]

function start(file: string): ChildProcess {
  const { command, args } = supervised('/bin/sh', program(file))
  return spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit', 'pipe'], detached: true })
}

const written = (file: string) => readFile(file, 'utf8').catch(() => '')

it('a program gets what is written to it, and its own exit is seen', async () => {
  const file = join(folder, 'ends')
  const child = start(file)
  await once(child.stdout!, 'data')
  child.stdin!.write('one\ntwo\n')
  letItEnd(child.stdio[3] as Writable)
  child.stdin!.end()
  expect(await once(child, 'exit')).toEqual([7, null])
  expect(await written(file)).toBe('one\ntwo\nEOF\n')
})

it('a program that is killed ends its supervision, too', async () => {
  const { command, args } = supervised('/bin/sh', ['-c', 'echo ready; kill -KILL $$'])
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore', 'pipe'], detached: true })
  expect(await once(child, 'exit')).toEqual([137, null])
  child.stdin?.destroy()
})

it('a program whose starter is killed ends without having seen the end of its input', async () => {
  const { command, args } = supervised('/bin/sh', program('"$0"'))
  for (let round = 0; round < 10; round++) {
    const file = join(folder, `killed-${round}`)
    const starter = `
      const child = require('node:child_process').spawn(${JSON.stringify(command)}, [...${JSON.stringify(args)}, ${JSON.stringify(file)}],
        { stdio: ['pipe', 'pipe', 'inherit', 'pipe'], detached: true })
      child.stdout.once('data', (pid) => { child.stdin.write('one\\n'); console.log(String(pid)) })`
    const gateway = spawn(process.execPath, ['-e', starter], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [pid] = (await once(gateway.stdout, 'data')) as [Buffer]
    await expect.poll(() => written(file)).toBe('one\n')
    gateway.kill('SIGKILL')
    await expect.poll(() => hasEnded(Number(pid.toString()))).toBe(true)
    expect(await written(file)).toBe('one\n')
  }
})

/** Gone, or waiting for somebody to collect it. */
async function hasEnded(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch {
    return true
  }
  return / Z /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))
}
