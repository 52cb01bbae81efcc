import type { SessionEvent } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { LiveFeed } from './live-feed.js'

const piece = { type: 'text_delta', blockId: 'b', text: 'Hello' } as const

describe('blocks that are being made', () => {
  it('count where each piece belongs', () => {
    const { feed, told } = listening()
    feed.emit('s', piece)
    feed.emit('s', piece)
    expect(told).toMatchObject([{ offset: 0 }, { offset: 5 }])
    expect(feed.blocks('s')).toEqual([{ ...piece, text: 'HelloHello', offset: 0 }])
  })

  it('are gone when the log has them, and a piece that comes late brings none back', () => {
    const { feed, told } = listening()
    feed.emit('s', piece)
    feed.finished('s', [finished('text')])
    feed.emit('s', piece)
    expect(feed.blocks('s')).toEqual([])
    expect(told).toHaveLength(1)
  })

  it('of another process are shown once, from where they begin, until the log has them', () => {
    const { feed, told } = listening()
    feed.receive('s', { ...piece, offset: 0 })
    feed.receive('s', { ...piece, offset: 0 })
    feed.receive('s', { ...piece, text: 'lo, you', offset: 3 })
    feed.receive('s', { ...piece, offset: 99 })
    feed.receive('s', { ...piece, blockId: 'late', offset: 5 })
    expect(told).toMatchObject([
      { text: 'Hello', offset: 0 },
      { text: ', you', offset: 5 },
    ])
    expect(feed.blocks('s')).toEqual([{ ...piece, text: 'Hello, you', offset: 0 }])
    expect(feed.unfinished('s')).toEqual([])
    feed.receive('t', { ...piece, offset: 0 })
    feed.finished('t', [])
    expect(feed.blocks('t')).toEqual([])
  })

  it('may have the id of a block of an earlier turn', () => {
    const { feed } = listening()
    feed.emit('s', piece)
    feed.finished('s', [finished('text'), finished('turn_started')])
    feed.emit('s', piece)
    expect(feed.blocks('s')).toHaveLength(1)
  })

  it('are left behind once', () => {
    const { feed } = listening()
    feed.emit('s', piece)
    expect(feed.unfinished('s')).toEqual([{ type: 'text', blockId: 'b', text: 'Hello', partial: true }])
    expect(feed.unfinished('s')).toEqual([])
  })
})

function listening() {
  const feed = new LiveFeed()
  const told: unknown[] = []
  feed.on(({ event }) => told.push(event))
  return { feed, told }
}

function finished(type: 'text' | 'turn_started'): SessionEvent {
  const envelope = { seq: 1, id: 'e', sessionId: 's', at: 0, turnId: 't' }
  return type === 'text' ? { ...envelope, type, blockId: 'b', text: 'Hello' } : { ...envelope, type }
}
