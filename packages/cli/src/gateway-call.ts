import { Gateway } from './reach/gateway.js'

/** Calls the gateway that runs on a data folder, as its first person. */
export async function callGateway<Answer>(
  folder: string,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<Answer> {
  const gateway = new Gateway('person', { data: folder }, { env: process.env })
  return gateway.json<Answer>({ method, path, ...(body !== undefined && { body }) })
}
