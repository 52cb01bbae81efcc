import { createAskback } from '@askback/gateway'
import { sqlite } from '@askback/store-sqlite'
import express from 'express'

export const app = express()
export const askback = createAskback({ store: sqlite('./askback.db') })
// Who a request comes from: return what your own login knows, or `null`.
const handler = askback.express({ authenticate: () => ({ id: 'ada', name: 'Ada', role: 'person' }) })
app.use('/askback', handler)
handler.attach(app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1'))
