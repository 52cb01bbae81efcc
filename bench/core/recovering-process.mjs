// Opens a database and answers one interaction, then sends its maximum resident memory to its parent.
import { createDesk } from '@askback/core'
import { sqliteStore } from '@askback/store-sqlite'
import { answer, person } from './workload.mjs'

const [path = '', sessionId = '', interactionId = ''] = process.argv.slice(2)
const store = sqliteStore({ path })
const desk = createDesk({ store })
await desk.as({ by: person, via: 'web' }).respond({ sessionId, interactionId, answer })
await desk.ready
process.send?.(process.resourceUsage().maxRSS * 1024)
desk.close()
await store.close()
process.disconnect?.()
