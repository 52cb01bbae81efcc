import { createDesk, createHost, memoryStore } from '@askback/core'
import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { createCredentials } from './credentials/credentials.js'
import { createGateway } from './gateway.js'

it('says in JSON what failed, and nothing of tokens, codes or payloads', async () => {
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
