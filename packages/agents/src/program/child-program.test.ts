import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allowEndOfInput, ChildProgram, supervisedCommand } from './child-program.js'

const start = (script: string) =>
  new ChildProgram({ command: '/bin/sh', args: ['-c', script], env: { PATH: process.env['PATH'] } })

it('has exited only when its last error output is read', async () => {
  const child = start('echo no licence >&2; exit 3')
  const { stderr } = child.process
  stderr.pause()
  await once(child.process, 'exit')
  setImmediate(() => stderr.resume())
  await child.exited
  expect(child.endedHow).toBe(' ended: no licence')
})

it('counts a program that cannot be started as exited', async () => {
  const child = new ChildProgram({ command: 'x', args: [], cwd: '/nowhere', env: {} })
  await child.exited
  expect(child.endedHow).toMatch(/^ ended/)
})

it('does not wait for ever for output that another process holds open', async () => {
  // Without the mark and in a session of its own, the other process is not found when the program ends. The program
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

describe('a supervised program', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'askback-supervision-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  /** A program that writes its input to a file, and a last line when the input ends. */
  const recordInput = (file: string) => [
    '-c',
    `echo $$; while read -r line; do echo "$line" >>${file}; done; echo EOF >>${file}; exit 7`,
  ]

  function startRecording(file: string): ChildProcess {
    const { command, args } = supervisedCommand('/bin/sh', recordInput(file))
    return spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit', 'pipe'], detached: true })
  }

  const written = (file: string) => readFile(file, 'utf8').catch(() => '')

  it('receives its input, and its exit code is passed on', async () => {
    const file = join(folder, 'ends')
    const child = startRecording(file)
    await once(child.stdout!, 'data')
    child.stdin!.write('one\ntwo\n')
    allowEndOfInput(child.stdio[3] as Writable)
    child.stdin!.end()
    expect(await once(child, 'exit')).toEqual([7, null])
    expect(await written(file)).toBe('one\ntwo\nEOF\n')
  })

  it('ends its supervisor, too, when it is killed', async () => {
    const { command, args } = supervisedCommand('/bin/sh', ['-c', 'echo ready; kill -KILL $$'])
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore', 'pipe'], detached: true })
    expect(await once(child, 'exit')).toEqual([137, null])
    child.stdin?.destroy()
  })

  it('ends without seeing the end of its input when the process that started it is killed', async () => {
    const { command, args } = supervisedCommand('/bin/sh', recordInput('"$0"'))
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
})

/** True also for a zombie process, which only waits for its parent to read its exit code. */
async function hasEnded(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch {
    return true
  }
  return / Z /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))
}
