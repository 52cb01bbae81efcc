export { startPooler } from './pooler.js'
export { startPostgres, type PostgresServer } from './server.js'
