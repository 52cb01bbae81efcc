import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Members } from './members.js'

/** The requests that a server is answering. */
export class InFlight {
  readonly #responses = new Members<ServerResponse>()
  #ending = false

  constructor(server: Server) {
    server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      if (this.#ending) response.shouldKeepAlive = false
      response.once('close', this.#responses.add(response))
    })
  }

  /** Resolves when those that are answered now have been. Connections that send more are told to go elsewhere. */
  async end(): Promise<void> {
    this.#ending = true
    const now = [...this.#responses]
    for (const response of now) if (!response.headersSent) response.shouldKeepAlive = false
    await Promise.all(now.map((response) => new Promise((resolve) => response.once('close', resolve))))
  }
}
