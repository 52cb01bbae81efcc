import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { canKeep, KeptProgram } from './kept.js'

let folder: string
let signs: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'askback-kept-'))
  signs = await mkdtemp(join(tmpdir(), 'askback-signs-'))
})
afterAll(() => Promise.all([folder, signs].map((path) => rm(path, { recursive: true }))))

const untilTold = (name: string) => `until [ -e ${join(signs, name)} ]; do sleep 0.05; done`
const tell = (name: string) => writeFile(join(signs, name), '')

const address = (log: string) => /listening at (\S+)/.exec(log)?.[1] ?? null

function start(
  sessionId: string,
  script: string,
  signal = new AbortController().signal,
): Promise<KeptProgram | null> {
  const program = { command: '/bin/sh', args: ['-c', script], env: { PATH: process.env['PATH'] } }
  return KeptProgram.start(program, { folder, sessionId, seconds: 60, address, signal })
}

describe.runIf(canKeep())('a program that is kept', () => {
  it('is found again by its session, and is gone from its folder when it ends', async () => {
    const started = await start('one', 'echo listening at home >&2; tail -f /dev/null')
    const found = await KeptProgram.find(folder, 'one')
    expect(started!.address).toBe('home')
    expect(found!.address).toBe('home')
    expect(await KeptProgram.find(folder, 'other')).toBeNull()
    await KeptProgram.tidy(folder)
    expect(await readdir(folder)).toHaveLength(1)
    await found!.kill()
    await started!.gone
    expect(await KeptProgram.find(folder, 'one')).toBeNull()
    expect(await readdir(folder)).toEqual([])
  })

  it('is ended if nobody wants it before it has said where it listens', async () => {
    const unwanted = new AbortController()
    const starting = start('none', `touch ${join(signs, 'begun')}; tail -f /dev/null`, unwanted.signal)
    await vi.waitFor(() => readFile(join(signs, 'begun')), { timeout: 60_000 })
    unwanted.abort()
    expect(await starting).toBeNull()
    expect(await readdir(folder)).toEqual([])
  })

  it('says why it has ended, without how it introduced itself', async () => {
    const script = `printf "Hello\\nlistening at home\\n  more of that\\n" >&2; ${untilTold('two')}; echo "out of tea" >&2; exit 3`
    const started = await start('two', script)
    await tell('two')
    await started!.gone
    expect(started!.ending).toBe(' ended: out of tea')
  })

  it('that says nothing is told by its code', async () => {
    const started = await start('silent', `echo listening at home >&2; ${untilTold('silent')}; exit 3`)
    await tell('silent')
    await started!.gone
    expect(started!.ending).toBe(' ended with the exit code 3.')
  })

  it('is asked to end before it is made to', async () => {
    const file = join(signs, 'asked')
    const script = `trap 'sleep 0.2; : >${file}; exit' TERM; echo listening at home >&2; while :; do sleep 0.05; done`
    const started = await start('three', script)
    // However slow the machine is, it is not made to.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    await started!.kill()
    expect(existsSync(file)).toBe(true)
  })

  it('that ends before it can be spoken to is none', async () => {
    expect(await start('four', 'echo "unexpected argument" >&2; exit 2')).toBeNull()
    expect(await readdir(folder)).toEqual([])
  })
})
