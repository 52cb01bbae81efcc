import { describe } from 'vitest'
import { frameworkConforms } from './contract.js'

describe('the AI SDK 7, with its toolApproval', () => {
  frameworkConforms('ai-7-approval', { asksOneByOne: true, runsNoEdits: true })
})
