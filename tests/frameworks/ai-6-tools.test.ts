import { describe } from 'vitest'
import { frameworkConforms } from './contract.js'

describe('the AI SDK 6, with its tools wrapped', () => {
  frameworkConforms('ai-6-tools', { runsEachAtOnce: true })
})
