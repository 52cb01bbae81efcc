import { query } from '@anthropic-ai/claude-agent-sdk'
import { connectClaude } from '@askback/agents/claude'
import { createAskback } from '@askback/gateway'
import { sqlite } from '@askback/store-sqlite'

const askback = createAskback({ store: sqlite('./askback.db') })
const { openUrl } = await askback.serve({ port: Number(process.env['PORT'] ?? 4100) })
console.log(`Answer at ${openUrl}`)

const cwd = process.cwd()
const claude = connectClaude(askback.session('claude'), { cwd })
const prompt = process.argv[2] ?? 'Ask me for a topic, then write a haiku about it to haiku.txt.'
const run = query({ prompt, options: { cwd, ...claude.options } })
for await (const message of claude.observe(run)) if ('result' in message) console.log(message.result)
await askback.close()
