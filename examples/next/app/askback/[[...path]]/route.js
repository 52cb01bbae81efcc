import { started } from '../../../askback.js'

export const GET = (request) => started().handlers[request.method](request)
export { GET as POST, GET as DELETE, GET as OPTIONS }
