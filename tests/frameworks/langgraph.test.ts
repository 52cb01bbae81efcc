import { describe } from 'vitest'
import { frameworkConforms } from './contract.js'

describe('LangGraph, with the middleware of LangChain', () => {
  frameworkConforms('langgraph', { denialStopsStep: true })
})
