import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { claudeAgent } from '@askback/agents/claude'
import { createDesk, createHost } from '@askback/core'
import { sqliteStore } from '@askback/store-sqlite'

// A gateway's inside in a process of its own, to be killed: tells its session, and that something waits there.
const [db = '', cwd = '', text = ''] = process.argv.slice(2)
const desk = createDesk({ store: sqliteStore({ path: db }) })
const agents = [claudeAgent({ env: process.env, sdk: () => Promise.resolve(sdk) })]
const host = createHost({ desk, agents, onError: (error) => process.stderr.write(String(error)) })
await host.ready
const { session } = await host.createSession({ cwd, permissionMode: 'bypassPermissions' })
desk.on(({ events }) => {
  if (events.some((event) => event.type === 'interaction_request' && event.kind === 'question'))
    process.stdout.write(`${session.id}\n`)
})
await host.message({ sessionId: session.id, text, by: { id: 'me' }, via: 'direct' })
