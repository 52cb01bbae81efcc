/**
 * Listens on a free port, and prints its address in the format of the gateway.
 *
 * @param {import('node:http').Server} server
 */
export function serve(server) {
  // A connection is idle while the other side is measured.
  server.keepAliveTimeout = 120_000
  server.listen(0, '127.0.0.1', 4096, () => {
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const ready = { url: `http://127.0.0.1:${port}`, token: 'none', agentToken: 'none', pid: process.pid }
    process.stdout.write(`${JSON.stringify(ready)}\n`)
  })
  process.on('SIGTERM', () => process.exit(0))
}

/**
 * @template Body
 * @param {import('node:http').IncomingMessage} request
 * @param {(body: Body) => void} use
 */
export function withBody(request, use) {
  /** @type {Buffer[]} */
  const chunks = []
  request.on('data', (/** @type {Buffer} */ chunk) => chunks.push(chunk))
  request.on('end', () => use(/** @type {Body} */ (JSON.parse(Buffer.concat(chunks).toString()))))
}
