export { startTestGateway, type TestGateway, type TestGatewayOptions } from './test-gateway.js'
export {
  Api,
  approval,
  approve,
  question,
  signIn,
  sqlite,
  type ApiResponse,
  type BrowserLogin,
} from './api.js'
