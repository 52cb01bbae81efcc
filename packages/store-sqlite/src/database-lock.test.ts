import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describeOwner } from './database-lock.js'

it('a process that has ended is not named as the owner, also if it is a zombie', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'askback-owner-'))
  const path = join(folder, 'log.db')
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [said] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(said.toString())
    writeFileSync(`${path}-owner`, JSON.stringify({ pid, host: hostname(), since: 'today' }))
    expect(describeOwner(path)).toContain(`process ${pid} on`)
    await expect.poll(() => describeOwner(path)).toBe('another process: stop that first')
  } finally {
    parent.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  }
})
