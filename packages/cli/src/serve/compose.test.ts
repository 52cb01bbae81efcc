import { createDesk, createHost, memoryStore } from '@askback/core'
import { createCredentials, createGateway } from '@askback/gateway'
import { expect, it } from 'vitest'
import { escapedLog } from './compose.js'

it('escapes the words of agents in the lines of the log, and keeps the values', async () => {
  const words = 'Bash\u001b[2J\u009b31m\u007f\u202e\nforged'
  let text = ''
  const log = escapedLog({ write: (line: string | Uint8Array) => Boolean((text += String(line))) })
  const store = memoryStore()
  const onError = () => undefined
  const host = createHost({ desk: createDesk({ store, onError }), onError })
  host.agents = () => Promise.reject(new Error(words))
  const owner = { name: 'Ada', tokens: ['token'] }
  const credentials = await createCredentials({ store, owner, agentToken: 'agents', onError })
  const gateway = createGateway({ host, store, credentials, log })
  await gateway.app.inject({ url: '/api/agents', headers: { authorization: 'Bearer token' } })
  await gateway.close()
  await host.close()
  const lines = text.trimEnd().split('\n')
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0]!)).toMatchObject({ err: { message: words } })
  expect(lines[0]).not.toMatch(/[\p{Cc}\p{Cf}]/u)
})
