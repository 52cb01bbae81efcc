export { busContract } from './bus-contract.js'
export { leasesContract } from './leases-contract.js'
export { sharedDeskContract } from './shared-desk-contract.js'
export { storeContract } from './store-contract.js'
export {
  answer,
  ask,
  deliver,
  progress,
  SessionScript,
  text,
  toolCall,
  toolResult,
} from './session-script.js'
export { agentContract, type AgentUnderTest } from './agent-contract.js'
export { fakeClock, type FakeClock } from './fake-clock.js'
