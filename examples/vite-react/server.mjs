import { connect } from '@askback/client'
import { createAskback } from '@askback/gateway'
import { sqlite } from '@askback/store-sqlite'
import express from 'express'

const app = express()
const askback = createAskback({ store: sqlite('./askback.db'), webApp: null })
// Who a request comes from: return what your own login knows, or `null`.
const handler = askback.express({ authenticate: () => ({ id: 'ada', name: 'Ada', role: 'person' }) })
app.use('/askback', handler)
app.use(express.static('dist'))
handler.attach(app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1'))

const refunds = connect(askback).session('refunds')
app.post('/refunds', express.json(), async (request, response) => {
  const outcome = await refunds.approve('refund', request.body, { timeout: '1d' }).outcome()
  response.json(outcome.ok ? { refunded: outcome.value } : { refused: outcome.message })
})
