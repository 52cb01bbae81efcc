import { writeSync } from 'node:fs'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { claudeAgent } from '@askback/agents/claude'
import { codexAgent, codexExecAgent } from '@askback/agents/codex'
import { createDesk, createHost } from '@askback/core'
import type { PermissionMode, SessionEvent } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'

/** What the gateway in this process does. */
export interface ChildOptions {
  agent: 'claude' | 'codex' | 'codex-exec'
  /** Further options of the adapter. */
  options?: { executable?: string; detachedFolder?: string; detachedSeconds?: number }
  db: string
  cwd: string
  text: string
  mode: PermissionMode
  /** It prints the id of its session when this event has come `times` times. */
  type: SessionEvent['type']
  times?: number
  /** Whether it kills itself at that moment. */
  dies?: boolean
  /** The answer to the first request. */
  answer?: object
}

const given = JSON.parse(process.argv[2] ?? '{}') as ChildOptions
const { agent, options, db, cwd, text, mode, type, times = 1, dies = false, answer } = given
const desk = createDesk({ store: sqliteStore({ path: db }) })
const { env } = process
const agents = {
  claude: () => claudeAgent({ env, sdk: () => Promise.resolve(sdk) }),
  codex: () => codexAgent({ env, ...options }),
  'codex-exec': () => codexExecAgent({ env, ...options }),
}
const onError = (error: unknown) => void process.stderr.write(String(error))
const host = createHost({ desk, agents: [agents[agent]()], onError })
await host.ready
const me = { by: { id: 'me' }, via: 'direct' } as const
const { session } = await host.createSession({ cwd, permissionMode: mode })
let count = 0
desk.on(({ events }) => {
  count += events.filter((event) => event.type === type).length
  if (count >= times) {
    count = Number.NEGATIVE_INFINITY
    writeSync(1, `${session.id}\n`)
    if (dies) process.kill(process.pid, 'SIGKILL')
  }
  const asked = events.find((event) => event.type === 'interaction_request')
  if (asked && answer) void desk.as(me).respond({ interactionId: asked.interactionId, answer })
})
await host.as(me).message({ sessionId: session.id, text })
