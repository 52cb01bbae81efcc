export { startTestGateway, type TestGateway, type TestGatewayOptions } from './test-gateway.js'
