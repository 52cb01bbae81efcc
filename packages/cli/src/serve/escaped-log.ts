import { Writable } from 'node:stream'
import { escapeHidden } from '../output.js'

/**
 * Lines of JSON for a terminal. They quote agents, and JSON leaves characters as they are that a terminal acts on (U+009B
 * begins a control sequence) or hides.
 */
export function escapedLog(output: Pick<NodeJS.WritableStream, 'write'>): Writable {
  return new Writable({
    decodeStrings: false,
    write(line: string | Buffer, _encoding, done) {
      output.write(escapeHidden(String(line)))
      done()
    },
  })
}
