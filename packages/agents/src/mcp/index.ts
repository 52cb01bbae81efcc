export { createMcpHandler, type McpHttpRequest } from './http.js'
export { isUnfinished, type RequestPort, type SettlementWait } from './request-port.js'
export { createAskServer, type AskServerOptions } from './server.js'
