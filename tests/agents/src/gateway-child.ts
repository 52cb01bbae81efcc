import { writeSync } from 'node:fs'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { claudeAgent } from '@askback/agents/claude'
import { createDesk, createHost } from '@askback/core'
import type { PermissionMode } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'

// A gateway's inside in a process of its own. It tells its session when the event that was named has come so often; a plan
// is approved for a fresh context. With `at once` it kills itself in that very moment.
const [db = '', cwd = '', text = '', mode, type, times, how] = process.argv.slice(2)
const desk = createDesk({ store: sqliteStore({ path: db }) })
const agents = [claudeAgent({ env: process.env, sdk: () => Promise.resolve(sdk) })]
const host = createHost({ desk, agents, onError: (error) => process.stderr.write(String(error)) })
await host.ready
const me = { by: { id: 'me' }, via: 'direct' } as const
const { session } = await host.createSession({ cwd, permissionMode: mode as PermissionMode })
let count = 0
desk.on(({ events }) => {
  count += events.filter((event) => event.type === type).length
  if (count >= Number(times)) {
    count = Number.NEGATIVE_INFINITY
    writeSync(1, `${session.id}\n`)
    if (how === 'at once') process.kill(process.pid, 'SIGKILL')
  }
  for (const event of events) {
    if (event.type !== 'interaction_request' || event.kind !== 'plan_review') continue
    void desk.respond({ ...me, interactionId: event.interactionId, answer: { decision: 'clean_edit' } })
  }
})
await host.message({ sessionId: session.id, text, ...me })
