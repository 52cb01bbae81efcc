import { createDesk, createHost, memoryStore } from '@askback/core'
import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { createCredentials } from './credentials/credentials.js'
import { createGateway } from './gateway.js'

it('logs a client that disconnects before its body is complete as debug, not as error', async () => {
  let text = ''
  const written = new EventEmitter()
  const log = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString()
      written.emit('line')
      done()
    },
  })
  const store = memoryStore()
  const onError = () => undefined
  const host = createHost({ desk: createDesk({ store, onError }), onError })
  const owner = { name: 'Ada', tokens: ['a-person'] }
  const credentials = await createCredentials({ store, owner, agentToken: 'agents', onError })
  const gateway = createGateway({ host, store, credentials, log, config: { logLevel: 'debug' } })
  const port = Number(new URL(await gateway.listen()).port)
  for (const type of ['application/json', 'application/x-ndjson']) {
    text = ''
    const logged = once(written, 'line')
    const seen = once(gateway.app.server, 'request')
    const socket = connect(port, '127.0.0.1')
    socket.write(
      `POST /api/sessions/adopt HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer a-person\r\n` +
        `Content-Type: ${type}\r\nContent-Length: 100\r\n\r\n{`,
    )
    await seen
    socket.destroy()
    await logged
    expect(JSON.parse(text)).toMatchObject({
      level: 20,
      msg: 'A client was gone before its request was complete',
    })
    expect(text).not.toContain('stack')
  }
  await gateway.close()
  await host.close()
})

it('logs in JSON what failed, without tokens, codes or payloads', async () => {
  let text = ''
  const log = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString()
      done()
    },
  })
  const store = memoryStore()
  const onError = () => undefined
  const host = createHost({ desk: createDesk({ store, onError }), onError })
  host.agents = () => Promise.reject(new Error('the reason'))
  const owner = { name: 'Ada', tokens: ['token-of-a-person'] }
  const credentials = await createCredentials({ store, owner, agentToken: 'token-of-agents', onError })
  const gateway = createGateway({ host, store, credentials, log, config: { logLevel: 'debug' } })
  const headers = { authorization: 'Bearer token-of-a-person', 'content-type': 'application/json' }
  await gateway.app.inject({ url: '/api/agents?x=in-the-query', headers })
  await gateway.app.inject({
    method: 'POST',
    url: '/api/sessions',
    headers,
    payload: '{"title":"in-the-body"}',
  })
  await gateway.app.inject({ url: '/login?code=in-the-code' })
  await gateway.app.inject({ url: '/api/sessions', headers: { authorization: 'Bearer a-wrong-token' } })
  await gateway.close()
  await host.close()
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { level: number; msg: string })
  expect(lines.filter(({ level }) => level >= 50)).toEqual([
    expect.objectContaining({ msg: 'A request failed' }),
  ])
  expect(text).toContain('the reason')
  for (const secret of ['token-of', 'in-the-query', 'in-the-body', 'in-the-code', 'a-wrong-token'])
    expect(text).not.toContain(secret)
})
