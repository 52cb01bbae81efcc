import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { canDetachPrograms, DetachedProgram } from './detached-program.js'

let folder: string
let signals: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'askback-detached-'))
  signals = await mkdtemp(join(tmpdir(), 'askback-signals-'))
})
afterAll(() => Promise.all([folder, signals].map((path) => rm(path, { recursive: true }))))

/** A line of shell that waits until the test calls `signal` with the same name. */
const waitForSignal = (name: string) => `until [ -e ${join(signals, name)} ]; do sleep 0.05; done`
const signal = (name: string) => writeFile(join(signals, name), '')

const findAddress = (log: string) => /listening at (\S+)/.exec(log)?.[1] ?? null

function start(
  sessionId: string,
  script: string,
  abort = new AbortController().signal,
): Promise<DetachedProgram | null> {
  const program = { command: '/bin/sh', args: ['-c', script], env: { PATH: process.env['PATH'] } }
  return DetachedProgram.start(program, { folder, sessionId, seconds: 60, findAddress, signal: abort })
}

describe.runIf(canDetachPrograms())('a detached program', () => {
  it('is found again by its session, and its folder is removed when it ends', async () => {
    const started = await start('one', 'echo listening at home >&2; tail -f /dev/null')
    const found = await DetachedProgram.find(folder, 'one')
    expect(started!.address).toBe('home')
    expect(found!.address).toBe('home')
    expect(await DetachedProgram.find(folder, 'other')).toBeNull()
    await DetachedProgram.removeEnded(folder)
    expect(await readdir(folder)).toHaveLength(1)
    await found!.kill()
    await started!.exited
    expect(await DetachedProgram.find(folder, 'one')).toBeNull()
    expect(await readdir(folder)).toEqual([])
  })

  it('is killed if its start is aborted before its address is known', async () => {
    const abort = new AbortController()
    const starting = start('none', `touch ${join(signals, 'begun')}; tail -f /dev/null`, abort.signal)
    await vi.waitFor(() => readFile(join(signals, 'begun')), { timeout: 60_000 })
    abort.abort()
    expect(await starting).toBeNull()
    expect(await readdir(folder)).toEqual([])
  })

  it('reports its last error output, without its introduction', async () => {
    const script = `printf "Hello\\nlistening at home\\n  more of that\\n" >&2; ${waitForSignal('two')}; echo "out of tea" >&2; exit 3`
    const started = await start('two', script)
    await signal('two')
    await started!.exited
    expect(started!.endedHow).toBe(' ended: out of tea')
  })

  it('reports its exit code if it printed no error', async () => {
    const started = await start('silent', `echo listening at home >&2; ${waitForSignal('silent')}; exit 3`)
    await signal('silent')
    await started!.exited
    expect(started!.endedHow).toBe(' ended with the exit code 3.')
  })

  it('gets SIGTERM, and SIGKILL only if it does not end', async () => {
    const file = join(signals, 'terminated')
    const script = `trap 'sleep 0.2; : >${file}; exit' TERM; echo listening at home >&2; while :; do sleep 0.05; done`
    const started = await start('three', script)
    // With fake timers SIGKILL never comes, however slow the machine is.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    await started!.kill()
    expect(existsSync(file)).toBe(true)
  })

  it('is `null` if it ends before its address is known', async () => {
    expect(await start('four', 'echo "unexpected argument" >&2; exit 2')).toBeNull()
    expect(await readdir(folder)).toEqual([])
  })
})
