import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { expect, it, onTestFinished, vi } from 'vitest'
import {
  detachedRunMark,
  killOrphans,
  killRun,
  killSessionProcesses,
  RUN_MARK,
  runMark,
} from './orphan-processes.js'

function startMarked(mark: string): ChildProcess {
  // The shell itself waits, instead of a program that it would start: during `exec` the environment cannot be read.
  return spawn('/bin/sh', ['-c', 'echo ready; read -r end'], {
    env: { PATH: process.env['PATH'], [RUN_MARK]: mark },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

// Only there can the environment of other processes be read.
const canReadEnvironments = existsSync('/proc/self/environ')

it.runIf(canReadEnvironments)('kills the processes with a given mark, and no others', async () => {
  const session = `session ${process.pid}`
  const run = runMark(session, 'run')
  const orphan = 'session/999999.1/run'
  const detached = detachedRunMark(session, 'run')
  const marks = [run, runMark(session, 'other'), runMark(`${session}/too`, 'run'), detached, orphan]
  const children = marks.map(startMarked)
  await Promise.all(children.map((child) => once(child.stdout!, 'data')))
  const alive = () => children.map((child) => child.exitCode === null && child.signalCode === null)
  try {
    killRun(run)
    // Any gateway that starts on this machine may kill the orphan, so it is not checked yet.
    await expect.poll(() => alive().slice(0, 4)).toEqual([false, true, true, true])
    killOrphans()
    await expect.poll(alive).toEqual([false, true, true, true, false])
    killSessionProcesses(session)
    await expect.poll(alive).toEqual([false, false, true, false, false])
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
})

it.runIf(canReadEnvironments)(
  'kills a program before it sees the end of its input, however long the killing takes',
  async () => {
    const mark = runMark(`session ${process.pid}`, 'slow')
    // The process that holds the input open was started first, so it is found first.
    const program = 'read -r forever <&3 | { echo ready; read -r end || echo "I was refused."; }'
    const child = spawn('/bin/sh', ['-c', program], {
      env: { PATH: process.env['PATH'], [RUN_MARK]: mark },
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    })
    let output = ''
    child.stdout!.on('data', (data: Buffer) => (output += data.toString()))
    await expect.poll(() => output).toBe('ready\n')
    const kill = process.kill.bind(process)
    const slowKill = vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
      kill(pid, signal)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
      return true
    })
    onTestFinished(() => slowKill.mockRestore())
    const closed = once(child, 'close')
    killRun(mark)
    await closed
    expect(output).toBe('ready\n')
  },
)
