import { AskbackError } from '@askback/protocol'
import type { Socket } from 'node:net'
import { bodyOf, SECURITY_HEADERS } from './answers.js'

/** What is not even HTTP still gets an answer in JSON, where its sender can read one. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const tooLong = error.code === 'HPE_HEADER_OVERFLOW'
  const message = tooLong ? 'The headers are too long.' : 'This is not a valid HTTP request.'
  const body = JSON.stringify(bodyOf(new AskbackError('invalid_request', message)))
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(SECURITY_HEADERS).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
