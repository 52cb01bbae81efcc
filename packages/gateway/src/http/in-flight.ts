import type { IncomingMessage, Server, ServerResponse } from 'node:http'

/** The requests that a server is answering. */
export class InFlight {
  readonly #responses = new Set<ServerResponse>()
  #ending = false

  constructor(server: Server) {
    server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      if (this.#ending) response.shouldKeepAlive = false
      this.#responses.add(response)
      response.once('close', () => this.#responses.delete(response))
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
