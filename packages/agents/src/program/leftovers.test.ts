import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { expect, it, onTestFinished, vi } from 'vitest'
import { endOrphans, endRun, endSession, keptMarkOf, MARK, markOf } from './leftovers.js'

function running(mark: string): ChildProcess {
  // Without a program of its own: while one takes another's place its environment cannot be read.
  return spawn('/bin/sh', ['-c', 'echo ready; read -r end'], {
    env: { PATH: process.env['PATH'], [MARK]: mark },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

// Only there can the environment of other processes be read.
const canFindThem = existsSync('/proc/self/environ')

it.runIf(canFindThem)('ends what is marked so, and nothing else', async () => {
  const session = `session ${process.pid}`
  const ours = markOf(session, 'run')
  const orphan = 'session/999999.1/run'
  const kept = keptMarkOf(session, 'run')
  const children = [ours, markOf(session, 'other'), markOf(`${session}/too`, 'run'), kept, orphan].map(
    running,
  )
  await Promise.all(children.map((child) => once(child.stdout!, 'data')))
  const alive = () => children.map((child) => child.exitCode === null && child.signalCode === null)
  try {
    endRun(ours)
    // Any gateway that starts on this machine ends the orphan.
    await expect.poll(() => alive().slice(0, 4)).toEqual([false, true, true, true])
    endOrphans()
    await expect.poll(alive).toEqual([false, true, true, true, false])
    endSession(session)
    await expect.poll(alive).toEqual([false, false, true, false, false])
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
})

it.runIf(canFindThem)(
  'ends a program before it sees the end of its input, however long that takes',
  async () => {
    const mark = markOf(`session ${process.pid}`, 'slow')
    // Who holds its input open was there first, and is found first.
    const program = 'read -r forever <&3 | { echo ready; read -r end || echo "I was refused."; }'
    const child = spawn('/bin/sh', ['-c', program], {
      env: { PATH: process.env['PATH'], [MARK]: mark },
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    })
    let said = ''
    child.stdout!.on('data', (data: Buffer) => (said += data.toString()))
    await expect.poll(() => said).toBe('ready\n')
    const kill = process.kill.bind(process)
    const slow = vi.spyOn(process, 'kill').mockImplementation((pid, signal) => {
      kill(pid, signal)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
      return true
    })
    onTestFinished(() => slow.mockRestore())
    const closed = once(child, 'close')
    endRun(mark)
    await closed
    expect(said).toBe('ready\n')
  },
)
