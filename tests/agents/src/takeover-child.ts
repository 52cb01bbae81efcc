import { writeSync } from 'node:fs'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { claudeAgent } from '@askback/agents/claude'
import { codexAgent } from '@askback/agents/codex'
import { clusterMember } from './cluster-member.js'

// One gateway of a cluster, in a process of its own, with one session. It prints the session's id and the type of each event.
const [url = '', agent = '', cwd = '', text = ''] = process.argv.slice(2)
const { env } = process
const adapter =
  agent === 'claude'
    ? claudeAgent({ env, sdk: () => Promise.resolve(sdk) })
    : codexAgent({ env, executable: agent })
const { host } = await clusterMember(url, adapter, (error) => process.stderr.write(`${String(error)}\n`))
const { session } = await host.createSession({ cwd })
writeSync(1, `${session.id}\n`)
host.desk.on(({ events }) => {
  for (const { type } of events) writeSync(1, `${type}\n`)
})
await host.as({ by: { id: 'me' }, via: 'direct' }).message({ sessionId: session.id, text })
