import type { Readable, Writable } from 'node:stream'
import { isRecord } from '@askback/protocol'

/** A connection that carries messages, each one a JSON text. */
export interface Channel {
  send(text: string): void
  /** Must be called once, before the first message can arrive. */
  listen(onMessage: (text: string) => void): void
}

/** Newline-delimited JSON over the pipes of a program. */
export function ndjsonChannel({ stdout, stdin }: { stdout: Readable; stdin: Writable }): Channel {
  return {
    send: (text) => void (stdin.writable && stdin.write(`${text}\n`)),
    listen: (onMessage) => readLines(stdout, onMessage),
  }
}

/**
 * Calls `onLine` for each complete line. Node's `readline` does not fit: it also splits at U+2028 and U+2029, which may
 * stand inside a JSON string.
 */
export function readLines(input: Readable, onLine: (line: string) => void): void {
  let rest = ''
  input.setEncoding('utf8')
  input.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  })
}

/** `null` for anything but a JSON object: programs also print remarks to the stream that carries messages. */
export function parseObject(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}
