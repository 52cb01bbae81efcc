import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { endOrphans, endRun, endSession, keptMarkOf, MARK, markOf } from './leftovers.js'

function running(mark: string): ChildProcess {
  // Without a program of its own: while one takes another's place its environment cannot be read.
  return spawn('/bin/sh', ['-c', 'echo ready; read -r end'], {
    env: { PATH: process.env['PATH'], [MARK]: mark },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

// Only there can the environment of other processes be read.
it.runIf(existsSync('/proc/self/environ'))('ends what is marked so, and nothing else', async () => {
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
