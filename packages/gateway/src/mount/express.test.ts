import { createServer, IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import type { Gateway } from '../gateway.js'
import { expressHandler } from './express.js'

it('says that there are WebSockets as long as it is attached to a server, however often it is detached', async () => {
  let upgrades: boolean | undefined
  const handle: Gateway['handle'] = async (_request, _response, mount) => void (upgrades = mount.upgrades)
  const handler = expressHandler(Promise.resolve({ handle } as Gateway), () => undefined)
  const isServed = async () => {
    const request = new IncomingMessage(new Socket())
    upgrades = undefined
    handler(request, new ServerResponse(request))
    await expect.poll(() => upgrades).toBeDefined()
    return upgrades
  }
  expect(await isServed()).toBe(false)
  const [detachOne, detachOther] = [handler.attach(createServer()), handler.attach(createServer())]
  expect(await isServed()).toBe(true)
  detachOne()
  detachOne()
  expect(await isServed()).toBe(true)
  detachOther()
  detachOther()
  expect(await isServed()).toBe(false)
  handler.attach(createServer())
  expect(await isServed()).toBe(true)
})
