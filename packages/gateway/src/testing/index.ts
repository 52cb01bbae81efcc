export { startTestGateway, type TestGateway, type TestGatewayOptions } from './test-gateway.js'
export { Api, approval, approve, question, sqlite, type Answered } from './api.js'
