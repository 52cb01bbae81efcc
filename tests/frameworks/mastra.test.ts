import { describe } from 'vitest'
import { frameworkConforms } from './contract.js'

describe('Mastra', () => {
  frameworkConforms('mastra', { asksOneByOne: true, runsNoEdits: true })
})
