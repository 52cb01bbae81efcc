import { connect } from '@askback/client'
import express from 'express'
import { app, askback } from './server.mjs'

const refunds = connect(askback).session('refunds')

app.post('/refunds', express.json(), async (request, response) => {
  const outcome = await refunds.approve('refund', request.body, { timeout: '1d' }).outcome()
  response.json(outcome.ok ? { refunded: outcome.value } : { refused: outcome.message })
})
console.log('Askback is at /askback. POST to /refunds to ask.')
