import { connect } from 'node:net'

/**
 * @param {string} url
 * @param {{ path: string; token?: string; lastEventId?: number }} request
 */
function open(url, { path, token, lastEventId }) {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  const auth = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
  const resume = lastEventId === undefined ? '' : `Last-Event-ID: ${lastEventId}\r\n`
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: text/event-stream\r\n${auth}${resume}\r\n`)
  return socket
}

/** Waits for frames by the type of their event. */
export class SseReader {
  #socket
  #text = ''
  /** @type {Map<string, (frame: string) => void>} */
  #awaited = new Map()
  /** @type {string[]} */
  #unread = []
  /** Resolves when the stream has begun. */
  opened

  /**
   * @param {string} url
   * @param {{ path: string; token?: string }} request
   */
  constructor(url, request) {
    this.#socket = open(url, request)
    this.opened = new Promise((resolve) => this.#socket.once('data', resolve))
    this.#socket.on('data', (data) => this.#read(data.toString()))
  }

  /**
   * The next frame of that type.
   *
   * @param {string} type
   * @returns {Promise<string>}
   */
  next(type) {
    const index = this.#unread.findIndex((frame) => frame.includes(`event: ${type}\n`))
    if (index >= 0) return Promise.resolve(this.#unread.splice(index, 1)[0] ?? '')
    return new Promise((resolve) => this.#awaited.set(type, resolve))
  }

  close() {
    this.#socket.destroy()
  }

  /** @param {string} text */
  #read(text) {
    const frames = (this.#text + text).split('\n\n')
    this.#text = frames.pop() ?? ''
    for (const frame of frames) {
      const type = /^event: (.*)$/m.exec(frame)?.[1] ?? ''
      const awaited = this.#awaited.get(type)
      this.#awaited.delete(type)
      if (awaited) awaited(frame)
      else if (INTERESTING.has(type)) this.#unread.push(frame)
    }
  }
}

const INTERESTING = new Set(['interaction_request', 'interaction_response'])

/**
 * Opens many clients that only count what they receive.
 *
 * @param {string} url
 * @param {{ path: string; token?: string; lastEventId?: number }} request
 * @param {number} size
 */
export function openClients(url, request, size) {
  const received = { opened: 0, frames: 0, bytes: 0 }
  /** @type {{ what: keyof typeof received; total: number; reached: (_: unknown) => void } | null} */
  let awaited = null
  const sockets = Array.from({ length: size }, () => {
    const socket = open(url, request)
    let inHead = true
    socket.on('data', (data) => {
      let start = 0
      if (inHead) {
        start = data.indexOf('\r\n\r\n') + 4
        if (start < 4 || !data.toString('latin1', 0, 12).endsWith('200')) throw new Error(data.toString())
        inHead = false
        received.opened++
      }
      received.bytes += data.length - start
      if (data[start] !== COLON) received.frames += framesIn(data, start)
      if (awaited && received[awaited.what] >= awaited.total) awaited.reached(undefined)
    })
    return socket
  })
  return {
    /**
     * Resolves when all clients together have received `total`.
     *
     * @param {keyof typeof received} what
     * @param {number} total
     */
    async until(what, total) {
      if (received[what] < total) await new Promise((reached) => (awaited = { what, total, reached }))
      awaited = null
    },
    received,
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** The first character of a heartbeat. */
const COLON = 58

/**
 * @param {Buffer} data
 * @param {number} start
 */
function framesIn(data, start) {
  let frames = 0
  for (let end = data.indexOf('\n\n', start); end >= 0; end = data.indexOf('\n\n', end + 2)) frames++
  return frames
}
