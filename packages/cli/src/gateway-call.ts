import { AskbackError, errorCodes, type ErrorBody, type ErrorCode } from '@askback/protocol/errors'
import { findGateway, type RunningGateway } from './running-gateway.js'

/** Calls the gateway that runs on a data folder, as its first person. */
export async function callGateway<Answer>(
  folder: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const gateway = findGateway(folder)
  const response = gateway && (await send(gateway, method, path, body))
  if (!response) {
    throw new AskbackError('unavailable', `No gateway runs on ${folder}. Start one with askback serve.`)
  }
  const answer = (await response.json()) as Answer | ErrorBody
  if (response.ok) return answer as Answer
  const { code, message } = (answer as ErrorBody).error
  throw new AskbackError(known(code), message)
}

/** `null` if nobody listens there any more. */
async function send(
  { url, token: bearer }: RunningGateway,
  method: string,
  path: string,
  body: unknown,
): Promise<Response | null> {
  try {
    return await fetch(new URL(path, url), {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        'askback-surface': 'cli',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  } catch {
    return null
  }
}

function known(code: string): ErrorCode {
  return Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : 'internal'
}
