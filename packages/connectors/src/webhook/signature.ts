import { createHmac } from 'node:crypto'

/** As standardwebhooks.com has it, so that every language has a library that checks it. */
export function signWebhook(
  secret: string,
  message: { id: string; timestamp: number; body: string },
): string {
  const [, encoded] = /^whsec_(.+)$/.exec(secret) ?? []
  const key = encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, 'base64')
  const { id, timestamp, body } = message
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}
