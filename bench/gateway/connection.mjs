import { connect } from 'node:net'

/** @typedef {{ token?: string; body?: unknown }} RequestOptions */

/** A persistent HTTP connection with one request at a time. It is minimal, so that the client does not limit what it measures. */
export class Connection {
  /** @type {import('node:net').Socket} */
  #socket
  #host
  /** @type {((text: string) => void) | null} */
  #onResponse = null
  /** @type {Buffer[]} */
  #parts = []
  #length = 0
  #needed = 0

  /** @param {string} url */
  constructor(url) {
    const { hostname, port, host } = new URL(url)
    this.#host = host
    this.#socket = connect(Number(port), hostname)
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (data) => this.#read(data))
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {RequestOptions} [options]
   * @returns {Promise<string>} The body of a successful answer.
   */
  request(method, path, { token, body } = {}) {
    const text = body === undefined ? '' : JSON.stringify(body)
    const auth = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
    const type = text
      ? `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
      : ''
    this.#socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${this.#host}\r\n${auth}${type}\r\n${text}`)
    return new Promise((resolve) => (this.#onResponse = resolve))
  }

  close() {
    this.#socket.destroy()
  }

  /** @param {Buffer} data */
  #read(data) {
    this.#parts.push(data)
    this.#length += data.length
    if (this.#needed === 0) this.#readHead()
    if (this.#needed === 0 || this.#length < this.#needed) return
    const answer = Buffer.concat(this.#parts)
    this.#parts = []
    this.#length = 0
    this.#needed = 0
    this.#onResponse?.(answer.toString('utf8', answer.indexOf('\r\n\r\n') + 4))
  }

  #readHead() {
    const head = Buffer.concat(this.#parts).toString('latin1')
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    if (!head.startsWith('HTTP/1.1 20')) throw new Error(`The server answered ${head}`)
    const length = /content-length: (\d+)/i.exec(head)?.[1] ?? '0'
    this.#needed = end + 4 + Number(length)
  }
}
