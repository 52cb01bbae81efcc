import type { Readable, Writable } from 'node:stream'
import type { Channel } from './peer.js'

/** Not `readline`: it also splits at separators that may stand inside a JSON string. */
export function eachLine(input: Readable, use: (line: string) => void): void {
  let rest = ''
  input.setEncoding('utf8')
  input.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) use(line)
  })
}

/** One line for each message. */
export function lineChannel({ stdout, stdin }: { stdout: Readable; stdin: Writable }): Channel {
  return {
    send: (text) => void (stdin.writable && stdin.write(`${text}\n`)),
    listen: (use) => eachLine(stdout, use),
  }
}

/** Anything that is no message is a remark that got onto the wrong stream. */
export function messageIn<Message extends object>(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Message) : null
  } catch {
    return null
  }
}
