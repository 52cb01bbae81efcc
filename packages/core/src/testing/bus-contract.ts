import { describe, expect, it } from 'vitest'
import type { Bus, BusMessage } from '../cluster/bus.js'

/** What every bus does while nothing is cut. `join` gives a member of the same bus as the one before, or of a new one. */
export function busContract(
  name: string,
  create: () => Promise<{ join: () => Promise<Bus>; end: () => Promise<void> }>,
): void {
  describe(`${name} as a bus`, () => {
    async function members(count: number) {
      const { join, end } = await create()
      const buses = await Promise.all(Array.from({ length: count }, join))
      const heard = buses.map((bus) => {
        const messages: BusMessage[] = []
        bus.on((message) => messages.push(message))
        return messages
      })
      const close = async () => {
        await Promise.all(buses.map((bus) => bus.close()))
        await end()
      }
      return { buses, heard, close }
    }

    const ring = (sessionId: string, event: number): BusMessage => ({
      type: 'append',
      sessionId,
      eventId: `e${event}`,
    })
    const words = (offset: number, text: string): BusMessage => ({
      type: 'live',
      sessionId: 's',
      event: { type: 'text_delta', blockId: 'b', offset, text },
    })

    it('tells all others what one publishes, and not itself', async () => {
      const { buses, heard, close } = await members(3)
      buses[0]!.publish(ring('s\u0000', 1))
      buses[1]!.publish({ type: 'mail', to: 'x' })
      buses[1]!.publish({ type: 'credentials' })
      await expect.poll(() => heard[2]).toHaveLength(3)
      expect(heard[2]).toEqual(
        expect.arrayContaining([ring('s\u0000', 1), { type: 'mail', to: 'x' }, { type: 'credentials' }]),
      )
      await expect.poll(() => heard[0]).toEqual([{ type: 'mail', to: 'x' }, { type: 'credentials' }])
      await expect.poll(() => heard[1]).toEqual([ring('s\u0000', 1)])
      await close()
    })

    it('tells of the newest append of each of many sessions', async () => {
      const { buses, heard, close } = await members(2)
      for (let event = 1; event <= 3; event++)
        for (let session = 0; session < 500; session++) buses[0]!.publish(ring(`session ${session}`, event))
      const newest = () =>
        new Map(
          heard[1]!.map((message) =>
            message.type === 'append' ? [message.sessionId, message.eventId] : ['', ''],
          ),
        )
      await expect.poll(() => newest().size).toBe(500)
      await expect.poll(() => [...newest().values()].every((eventId) => eventId === 'e3')).toBe(true)
      await close()
    })

    it('brings the pieces of a block in order, however they are cut', async () => {
      const { buses, heard, close } = await members(2)
      const long = 'é"\\\n'.repeat(5000)
      buses[0]!.publish(words(0, 'a'))
      buses[0]!.publish(words(1, 'b'))
      buses[0]!.publish(words(2, long))
      const text = () =>
        heard[1]!.reduce((so, message) => {
          if (message.type !== 'live' || message.event.type !== 'text_delta') return so
          expect(message.event.offset).toBe(so.length)
          return so + message.event.text
        }, '')
      await expect.poll(text).toBe(`ab${long}`)
      await close()
    })

    it('tells nobody any more who has stopped listening or is closed', async () => {
      const { buses, heard, close } = await members(3)
      const late: BusMessage[] = []
      const stop = buses[1]!.on((message) => late.push(message))
      stop()
      await buses[2]!.close()
      buses[0]!.publish(ring('s', 1))
      buses[2]!.publish(ring('closed', 1))
      await expect.poll(() => heard[1]).toEqual([ring('s', 1)])
      expect(late).toEqual([])
      expect(heard[2]).toEqual([])
      await close()
    })
  })
}
