import { join } from 'node:path'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { claudeAgent, type ClaudeAgentOptions } from '@askback/agents/claude'
import { createDesk, createHost, memoryStore, type Host, type Store } from '@askback/core'
import type { EventOf, Interaction, PermissionMode, SessionEvent } from '@askback/protocol'
import { afterAll } from 'vitest'
import { folderOf } from './claude-folders.js'

export const me = { by: { id: 'me' }, via: 'direct' } as const

const open = new Set<Host>()

// What a test that failed has left.
afterAll(() => Promise.all([...open].map((host) => host.close())))

export interface Place {
  store: Store
  sessionId: string
  home: string
  cwd: string
}

export interface SessionOptions {
  url: string
  mode?: PermissionMode
  /** A session that an earlier gateway had. */
  before?: Place
  agent?: Partial<ClaudeAgentOptions>
  cwd?: string
  /** What the agent's shells find in their environment. */
  shells?: Record<string, string>
}

/** A gateway's inside with the real Claude in it, talking to a scripted model. */
export async function claudeSession({ url, mode, before, agent, cwd: folder, shells = {} }: SessionOptions) {
  const store = before?.store ?? memoryStore()
  const home = before?.home ?? (await folderOf('home'))
  const cwd = before?.cwd ?? folder ?? (await folderOf('work'))
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const adapter = claudeAgent({ env: claudeEnv(url, home), sdk: () => Promise.resolve(sdk), ...agent })
  const env = () => Promise.resolve(shells)
  const host: Host = createHost({ desk: createDesk({ store, onError }), agents: [adapter], env, onError })
  open.add(host)
  await host.ready
  const sessionId =
    before?.sessionId ?? (await host.createSession({ cwd, ...(mode && { permissionMode: mode }) })).session.id
  const events = () => store.read({ sessionId, limit: 1000 })

  /** Looks after every commit until it finds something. */
  async function when<T>(look: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      let off = () => {}
      const heard = new Promise<void>((resolve) => {
        off = host.desk.on(() => resolve())
      })
      const found = await look()
      if (found === undefined) await heard
      off()
      if (errors.length > 0) throw errors[0]
      if (found !== undefined) return found
    }
  }

  return {
    host,
    close: async () => {
      await host.close()
      open.delete(host)
    },
    store,
    sessionId,
    home,
    cwd,
    errors,
    events,
    say: (text: string) => host.message({ sessionId, text, ...me, route: 'agent' }),
    /** That many requests that wait for a person. */
    pending: (count = 1): Promise<Interaction[]> =>
      when(async () => {
        const { interactions } = await host.desk.pending({ sessionId })
        return interactions.length >= count ? interactions : undefined
      }),
    answer: (item: Interaction, answer: unknown) =>
      host.desk.respond({ ...me, sessionId, interactionId: item.interactionId, answer }),
    until: <Type extends SessionEvent['type']>(type: Type, times = 1): Promise<EventOf<Type>[]> =>
      when(async () => {
        const found = (await events()).filter((event): event is EventOf<Type> => event.type === type)
        return found.length >= times ? found : undefined
      }),
    of: async <Type extends SessionEvent['type']>(type: Type): Promise<EventOf<Type>[]> =>
      (await events()).filter((event): event is EventOf<Type> => event.type === type),
    mode: async () => (await host.desk.snapshot(sessionId)).session.permissionMode,
  }
}

/** What the real program needs to run without the internet. */
export function claudeEnv(url: string, home: string): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: home,
    CLAUDE_CONFIG_DIR: join(home, '.claude'),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'dummy',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }
}
