import { connectorContract } from '../testing/connector-contract.js'
import { memorySurface } from '../testing/connector-memory.js'

connectorContract('a surface in memory', async () => memorySurface())
