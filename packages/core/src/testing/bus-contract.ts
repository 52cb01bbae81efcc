import { describe, expect, it } from 'vitest'
import type { Bus, BusMessage } from '../cluster/bus.js'

/**
 * Tests what every bus must do while its connections work.
 *
 * @param create makes a bus; each `join` adds a member to it
 */
export function busContract(
  name: string,
  create: () => Promise<{ join: () => Promise<Bus>; end: () => Promise<void> }>,
): void {
  describe(`${name} as a bus`, () => {
    async function members(count: number) {
      const { join, end } = await create()
      const buses = await Promise.all(Array.from({ length: count }, join))
      const received = buses.map((bus) => {
        const messages: BusMessage[] = []
        bus.on((message) => messages.push(message))
        return messages
      })
      const close = async () => {
        await Promise.all(buses.map((bus) => bus.close()))
        await end()
      }
      return { buses, received, close }
    }

    const doorbell = (sessionId: string, event: number): BusMessage => ({
      type: 'append',
      sessionId,
      eventId: `e${event}`,
    })
    const delta = (offset: number, text: string): BusMessage => ({
      type: 'live',
      sessionId: 's',
      event: { type: 'text_delta', blockId: 'b', offset, text },
    })

    it('delivers a message to all other members, and not to its sender', async () => {
      const { buses, received, close } = await members(3)
      buses[0]!.publish(doorbell('s\u0000', 1))
      buses[1]!.publish({ type: 'mail', to: 'x' })
      buses[1]!.publish({ type: 'credentials' })
      await expect.poll(() => received[2]).toHaveLength(3)
      expect(received[2]).toEqual(
        expect.arrayContaining([doorbell('s\u0000', 1), { type: 'mail', to: 'x' }, { type: 'credentials' }]),
      )
      await expect.poll(() => received[0]).toEqual([{ type: 'mail', to: 'x' }, { type: 'credentials' }])
      await expect.poll(() => received[1]).toEqual([doorbell('s\u0000', 1)])
      await close()
    })

    it('delivers the newest doorbell of each of many sessions', async () => {
      const { buses, received, close } = await members(2)
      for (let event = 1; event <= 3; event++)
        for (let session = 0; session < 500; session++)
          buses[0]!.publish(doorbell(`session ${session}`, event))
      const newest = () =>
        new Map(
          received[1]!.map((message) =>
            message.type === 'append' ? [message.sessionId, message.eventId] : ['', ''],
          ),
        )
      await expect.poll(() => newest().size).toBe(500)
      await expect.poll(() => [...newest().values()].every((eventId) => eventId === 'e3')).toBe(true)
      await close()
    })

    it('delivers the text of a block in order, however it is divided into deltas', async () => {
      const { buses, received, close } = await members(2)
      const long = 'é"\\\n'.repeat(5000)
      buses[0]!.publish(delta(0, 'a'))
      buses[0]!.publish(delta(1, 'b'))
      buses[0]!.publish(delta(2, long))
      const text = () =>
        received[1]!.reduce((soFar, message) => {
          if (message.type !== 'live' || message.event.type !== 'text_delta') return soFar
          expect(message.event.offset).toBe(soFar.length)
          return soFar + message.event.text
        }, '')
      await expect.poll(text).toBe(`ab${long}`)
      await close()
    })

    it('delivers nothing to a removed listener or a closed member', async () => {
      const { buses, received, close } = await members(3)
      const late: BusMessage[] = []
      const stop = buses[1]!.on((message) => late.push(message))
      stop()
      await buses[2]!.close()
      buses[0]!.publish(doorbell('s', 1))
      buses[2]!.publish(doorbell('closed', 1))
      await expect.poll(() => received[1]).toEqual([doorbell('s', 1)])
      expect(late).toEqual([])
      expect(received[2]).toEqual([])
      await close()
    })
  })
}
