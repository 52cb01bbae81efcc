export { createMcpHandler, type McpCall } from './http.js'
export { createAskServer, type AskServerOptions } from './server.js'
