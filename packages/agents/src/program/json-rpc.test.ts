import { expect, it } from 'vitest'
import { JsonRpcConnection, type JsonRpcHandlers } from './json-rpc.js'

/** A connection whose other end is the test. */
function connect(handlers: Partial<JsonRpcHandlers> = {}) {
  const sent: Record<string, unknown>[] = []
  let receive: (text: string) => void = () => {}
  const connection = new JsonRpcConnection(
    {
      send: (text) => void sent.push(JSON.parse(text) as Record<string, unknown>),
      listen: (onMessage) => (receive = onMessage),
    },
    {
      request: async () => null,
      notification: async () => {},
      failed: (error) => expect.unreachable(String(error)),
      ...handlers,
    },
    { jsonrpc: '2.0' },
  )
  return { connection, sent, receive: (message: unknown) => receive(JSON.stringify(message)), raw: receive }
}

it('resolves a request with its result, and rejects it with the error and its details', async () => {
  const { connection, sent, receive } = connect()
  const first = connection.request('one', { a: 1 })
  const second = connection.request('two', {})
  expect(sent).toEqual([
    { jsonrpc: '2.0', id: 1, method: 'one', params: { a: 1 } },
    { jsonrpc: '2.0', id: 2, method: 'two', params: {} },
  ])
  receive({ id: 2, error: { code: 1, message: 'No.', data: 'Not today.' } })
  receive({ id: 1, result: 'yes' })
  expect(await first).toBe('yes')
  await expect(second).rejects.toThrow('No. Not today.')
})

it('handles notifications in order, and a request after those before it', async () => {
  const handled: string[] = []
  let finishFirst = () => {}
  const { connection, sent, receive } = connect({
    async notification(method) {
      if (method === 'first') await new Promise<void>((resolve) => (finishFirst = resolve))
      handled.push(method)
    },
    async request(method) {
      handled.push(method)
      return 'done'
    },
  })
  receive({ method: 'first' })
  receive({ id: 'a', method: 'ask' })
  receive({ method: 'second' })
  await Promise.resolve()
  expect(handled).toEqual([])
  finishFirst()
  await connection.notificationsHandled
  expect(handled).toEqual(['first', 'ask', 'second'])
  await expect.poll(() => sent).toEqual([{ jsonrpc: '2.0', id: 'a', result: 'done' }])
})

it('handles later messages while a request waits for its answer', async () => {
  const handled: string[] = []
  const { connection, receive } = connect({
    request: () => new Promise(() => {}),
    notification: async (method) => void handled.push(method),
  })
  receive({ id: 1, method: 'ask' })
  receive({ method: 'news' })
  await connection.notificationsHandled
  expect(handled).toEqual(['news'])
})

it('sends an error for a request that its handler refuses', async () => {
  const { sent, receive } = connect({ request: () => Promise.reject(new Error('Unknown method.')) })
  receive({ id: 7, method: 'what' })
  const error = { code: -32000, message: 'Unknown method.' }
  await expect.poll(() => sent).toEqual([{ jsonrpc: '2.0', id: 7, error }])
})

it('rejects pending and later requests with the reason of close', async () => {
  const { connection, sent } = connect()
  const pending = connection.request('one', {})
  connection.close('The program ended.')
  await expect(pending).rejects.toThrow('The program ended.')
  await expect(connection.request('two', {})).rejects.toThrow('The program ended.')
  connection.notify('three')
  expect(sent).toHaveLength(1)
})
