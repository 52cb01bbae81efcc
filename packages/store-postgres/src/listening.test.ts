import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { Listening } from './listening.js'

/** As much of PostgreSQL as lets a client in, and refuses whatever it asks for. */
function refusing(connected: (socket: Socket) => void) {
  const message = (type: string, body: Buffer) => {
    const head = Buffer.alloc(5)
    head.write(type)
    head.writeInt32BE(body.length + 4, 1)
    return Buffer.concat([head, body])
  }
  const ready = message('Z', Buffer.from('I'))
  const refusal = message('E', Buffer.from('SERROR\0C57014\0Mcanceling statement\0\0'))
  return createServer((socket) => {
    connected(socket)
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', Buffer.alloc(4)), ready]))
      socket.on('data', () => socket.writable && socket.write(Buffer.concat([refusal, ready])))
    })
    socket.on('error', () => undefined)
  })
}

it('a connection that cannot listen is closed, and not left behind', async () => {
  const open = new Set<Socket>()
  const server = refusing((socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const listening = new Listening({ host: '127.0.0.1', port, user: 'u' }, 'news', () => undefined)
  await expect(listening.open()).rejects.toThrow('canceling statement')
  await expect.poll(() => open.size).toBe(0)
  await listening.close()
  server.close()
})
