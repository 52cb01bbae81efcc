import { connect } from '@askback/client'
import { started } from '../../askback.js'

export async function POST(request) {
  const refunds = connect(started().askback).session('refunds')
  const outcome = await refunds.approve('refund', await request.json(), { timeout: '1d' }).outcome()
  return Response.json(outcome.ok ? { refunded: outcome.value } : { refused: outcome.message })
}
