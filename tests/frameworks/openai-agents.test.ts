import { describe } from 'vitest'
import { frameworkConforms } from './contract.js'

describe('the OpenAI Agents SDK', () => {
  frameworkConforms('openai-agents', { runsNoEdits: true })
})
