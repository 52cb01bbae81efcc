import { describe } from 'vitest'
import { frameworkConforms } from './contract.js'

describe('the AI SDK 7, with its tools wrapped', () => {
  frameworkConforms('ai-7-tools', { runsEachAtOnce: true })
})
