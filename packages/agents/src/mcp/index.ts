export { createMcpHandler, type McpHttpRequest } from './http.js'
export { createAskServer, type AskServerOptions } from './server.js'
