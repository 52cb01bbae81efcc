export { startPooler } from './pooler.js'
export { freePort, startPostgres, type PostgresServer } from './server.js'
