export { storeContract } from './store-contract.js'
