import type { SessionEvent } from '@askback/protocol'
import { fakeClock } from '@askback/protocol/testing'
import { describe, expect, it } from 'vitest'
import { eventually } from '../eventually.test.helper.js'
import { readStream } from '../testing/conformance-subject.js'
import { EventLog, started, wrote } from '../testing/session-events.js'
import {
  fakeGateway,
  json,
  networkDown,
  refusal,
  settle,
  silence,
  stream,
} from './fake-gateway.test.helper.js'
import { HttpTransport } from './http-transport.js'

const log = new EventLog('s1')
log.append(started(), wrote('b1'), wrote('b2'))
const frame = (event: SessionEvent) =>
  `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
const [first, second, third] = log.events.map(frame) as [string, string, string]

function startReading(...answers: Parameters<typeof fakeGateway>) {
  const clock = fakeClock()
  const { fetch, received } = fakeGateway(...answers)
  const transport = new HttpTransport({ baseUrl: 'http://gateway', fetch, clock, random: () => 0.5 })
  const reader = readStream(transport, 's1', { seq: 0, logId: 'log' })
  return { clock, received, transport, reader }
}

describe('a stream of events', () => {
  it('requests the events after its position, and continues there after a lost connection', async () => {
    const [one, two] = [stream(), stream()]
    const { reader, received, transport } = startReading(one.answer, two.answer)
    await eventually(() => expect(reader.statuses).toEqual(['live']))
    expect(received[0]?.url).toBe('http://gateway/api/sessions/s1/events?log=log')
    expect(received[0]?.headers.get('accept')).toBe('text/event-stream')
    expect(received[0]?.headers.get('last-event-id')).toBe('0')
    one.write(first + second.slice(0, 20))
    await eventually(() => expect(reader.events).toHaveLength(1))
    one.fail()
    await eventually(() => {
      transport.retryNow()
      expect(received).toHaveLength(2)
    })
    expect(received[1]?.headers.get('last-event-id')).toBe('1')
    two.write(second + third)
    await eventually(() => expect(reader.events).toEqual(log.events))
    expect(reader.statuses).toEqual(['live', 'offline', 'live'])
    reader.stop()
    await reader.over
  })

  it('requests an early event again, because the one before it is missing', async () => {
    const one = stream()
    const { reader, received, transport } = startReading(one.answer, silence)
    one.write(first + third)
    await eventually(() => expect(reader.events.map(({ seq }) => seq)).toEqual([1, 3]))
    one.end()
    await eventually(() => {
      transport.retryNow()
      expect(received[1]?.headers.get('last-event-id')).toBe('1')
    })
    reader.stop()
  })

  it('stays open while there are heartbeats, and reconnects without them', async () => {
    const [one, two] = [stream(), stream()]
    const { reader, clock, received, transport } = startReading(one.answer, two.answer)
    await eventually(() => expect(reader.statuses).toEqual(['live']))
    for (let beats = 0; beats < 5; beats++) {
      clock.advance(44_000)
      one.write(':\n\n')
      await settle()
    }
    expect(received).toHaveLength(1)
    clock.advance(45_000)
    await eventually(() => {
      transport.retryNow()
      expect(received).toHaveLength(2)
    })
    reader.stop()
  })

  it('is given up if it never begins', async () => {
    const { reader, clock, received } = startReading(silence)
    await eventually(() => expect(received).toHaveLength(1))
    clock.advance(45_000)
    await eventually(() => expect(reader.statuses).toEqual(['offline']))
    reader.stop()
  })

  it('is reconnected by verifyConnection if the gateway cannot be reached, and only then', async () => {
    const one = stream()
    const { reader, received, transport, clock } = startReading(
      one.answer,
      refusal(429, 'rate_limited'),
      json({ sessions: [], next: null }),
      networkDown,
      silence,
    )
    await eventually(() => expect(reader.statuses).toEqual(['live']))
    transport.verifyConnection()
    await settle()
    expect(received).toHaveLength(2)
    transport.verifyConnection()
    await settle()
    expect(received).toHaveLength(3)
    expect(reader.statuses).toEqual(['live'])
    clock.advance(1000)
    await eventually(() => expect(reader.statuses).toEqual(['live', 'offline']))
    reader.stop()
  })

  it('waits longer after each failure, with jitter, up to a limit', async () => {
    const { reader, clock, received } = startReading(networkDown)
    const waits: number[] = []
    for (let attempt = 1; attempt <= 9; attempt++) {
      await settle()
      const from = clock.now()
      while (clock.armed === 1) clock.advance(12.5)
      waits.push(clock.now() - from)
    }
    expect(waits).toEqual([187.5, 375, 750, 1500, 3000, 6000, 12_000, 22_500, 22_500])
    expect(received).toHaveLength(9)
    reader.stop()
  })

  it('waits as long as the gateway asks for', async () => {
    const one = stream()
    const { reader, clock, received } = startReading(
      one.answer,
      refusal(429, 'rate_limited', { 'retry-after': '9' }),
      silence,
    )
    await eventually(() => expect(reader.statuses).toEqual(['live']))
    one.write('retry: 3000\n\n')
    one.end()
    await eventually(() => expect(reader.statuses).toEqual(['live', 'offline']))
    await settle()
    clock.advance(2999)
    expect(received).toHaveLength(1)
    clock.advance(1)
    await eventually(() => expect(reader.statuses).toHaveLength(3))
    await settle()
    clock.advance(8999)
    expect(received).toHaveLength(2)
    clock.advance(1)
    await eventually(() => expect(received).toHaveLength(3))
    reader.stop()
  })

  it('is reopened after a message that cannot be read', async () => {
    const [one, two] = [stream(), stream()]
    const { reader, received, transport } = startReading(one.answer, two.answer)
    one.write('id: 1\nevent: text\ndata: {"seq":1}\n\n')
    await eventually(() => {
      transport.retryNow()
      expect(received).toHaveLength(2)
    })
    two.write(first)
    await eventually(() => expect(reader.events).toHaveLength(1))
    reader.stop()
  })

  it('skips live events of an unknown type, and keeps events of the log', async () => {
    const one = stream()
    const { reader } = startReading(one.answer)
    const unknown = { seq: 1, id: 'e1', sessionId: 's1', at: 1, type: 'from_the_future' }
    one.write(`event: sparkle_delta\ndata: {"type":"sparkle_delta"}\n\n`)
    one.write(`id: 1\nevent: from_the_future\ndata: ${JSON.stringify(unknown)}\n\n`)
    await eventually(() => expect(reader.events).toEqual([unknown]))
    expect(reader.items.filter(({ type }) => type === 'live')).toEqual([])
    reader.stop()
  })

  it.each([
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [400, 'invalid_request'],
  ])('ends with status %i, and is not retried', async (status, code) => {
    const { reader, received, clock } = startReading(refusal(status, code))
    await expect(reader.over).rejects.toMatchObject({ code })
    clock.advance(3_600_000)
    expect(received).toHaveLength(1)
    expect(clock.armed).toBe(0)
  })

  it('ends when the transport is closed', async () => {
    const one = stream()
    const { reader, transport, clock } = startReading(one.answer)
    await eventually(() => expect(reader.statuses).toEqual(['live']))
    transport.close()
    await reader.over
    expect(clock.armed).toBe(0)
  })
})
