import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { bundleChild } from './child-bundle.js'
import { folderOf } from './folders.js'
import type { ChildOptions } from './gateway-child.js'

const gateways: ChildProcess[] = []

export interface KilledGateways {
  /** Runs a gateway in a process of its own until an event has come so many times. */
  until(options: Omit<ChildOptions, 'db' | 'cwd'>, env: Record<string, string>): Promise<GatewayToKill>
  close(): Promise<void>
}

export interface GatewayToKill {
  sessionId: string
  db: string
  cwd: string
  kill: () => Promise<void>
}

export async function killedGateways(): Promise<KilledGateways> {
  const child = await bundleChild(new URL('gateway-child.ts', import.meta.url))
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
