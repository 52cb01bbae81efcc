import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { folderOf } from './folders.js'
import type { ChildOptions } from './gateway-child.js'

const gateways: ChildProcess[] = []

export interface KilledGateways {
  /** A gateway in a process of its own, up to the moment in which an event has come that often. */
  until(options: Omit<ChildOptions, 'db' | 'cwd'>, env: Record<string, string>): Promise<ToKill>
  close(): Promise<void>
}

export interface ToKill {
  sessionId: string
  db: string
  cwd: string
  kill: () => Promise<void>
}

export async function killedGateways(): Promise<KilledGateways> {
  const child = await bundled()
  return {
    async until(options, env) {
      const cwd = await folderOf('work')
      const db = join(await folderOf('data'), 'askback.db')
      const given = JSON.stringify({ ...options, db, cwd } satisfies ChildOptions)
      const gateway = spawn(process.execPath, [child.file, given], {
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      gateways.push(gateway)
      const exited = once(gateway, 'exit')
      const [sessionId] = (await once(createInterface({ input: gateway.stdout }), 'line')) as [string]
      const kill = async () => {
        gateway.kill('SIGKILL')
        await exited
      }
      return { sessionId, db, cwd, kill }
    },
    async close() {
      for (const gateway of gateways) gateway.kill('SIGKILL')
      await child.remove()
    },
  }
}

/** The child as one file, where it finds the real SDK. */
async function bundled(): Promise<{ file: string; remove: () => Promise<void> }> {
  const cache = fileURLToPath(new URL('../node_modules/.cache', import.meta.url))
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'askback-'))
  const build = await rolldown({
    input: fileURLToPath(new URL('gateway-child.ts', import.meta.url)),
    platform: 'node',
    external: ['libsql', '@anthropic-ai/claude-agent-sdk'],
    resolve: { conditionNames: ['askback-source', 'node', 'import', 'default'] },
  })
  const file = join(folder, 'child.mjs')
  await build.write({ file, format: 'esm', codeSplitting: false })
  await build.close()
  return { file, remove: () => rm(folder, { recursive: true }) }
}
