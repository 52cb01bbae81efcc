export { connectorContract, type ConnectorUnderTest, type VisibleCard } from './connector-contract.js'
export { memorySurface, type MemorySurface } from './memory-surface.js'
