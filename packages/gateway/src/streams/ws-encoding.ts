import type { Encoding } from './encoding.js'

export const wsEncoding: Encoding = {
  events(events, texts) {
    const start = `{"op":"event","sessionId":${JSON.stringify(events[0]?.sessionId)},"event":`
    return Buffer.concat(texts.map((text) => textFrame(`${start}${text}}`)))
  },
  live: (sessionId, event) => jsonFrame({ op: 'live', sessionId, event }),
  resync: (sessionId) => jsonFrame({ op: 'resync', sessionId }),
}

/** What a client subscribes to, to hear of all sessions what the stream over all of them tells. */
export const ALL_SESSIONS = '*'

export function ofAllSessions(_events: unknown, texts: string[]): Buffer {
  const start = `{"op":"event","sessionId":"${ALL_SESSIONS}","event":`
  return Buffer.concat(texts.map((text) => textFrame(`${start}${text}}`)))
}

export function goneOnSocket(sessionId: string): Buffer {
  return jsonFrame({ op: 'gone', sessionId })
}

export function jsonFrame(message: object): Buffer {
  return textFrame(JSON.stringify(message))
}

const FINAL_TEXT = 0x81

/** A whole message from a server: one frame, unmasked (RFC 6455, 5.2). Made here so that it is made once for all. */
function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const start = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.allocUnsafe(start + length)
  frame[0] = FINAL_TEXT
  if (start === 2) frame[1] = length
  else if (start === 4) {
    frame[1] = 126
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 127
    frame.writeBigUInt64BE(BigInt(length), 2)
  }
  frame.write(text, start)
  return frame
}
