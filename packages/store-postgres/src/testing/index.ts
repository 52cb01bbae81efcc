export { startPostgres, type PostgresServer } from './server.js'
