import type { SessionEvent } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { LiveFeed } from './live-feed.js'

const piece = { type: 'text_delta', blockId: 'b', text: 'Hello' } as const

describe('unfinished blocks', () => {
  it('have an offset for each piece', () => {
    const { feed, emitted } = listening()
    feed.emit('s', piece)
    feed.emit('s', piece)
    expect(emitted).toMatchObject([{ offset: 0 }, { offset: 5 }])
    expect(feed.blocks('s')).toEqual([{ ...piece, text: 'HelloHello', offset: 0 }])
  })

  it('are removed when the log has them, and a late piece does not add them again', () => {
    const { feed, emitted } = listening()
    feed.emit('s', piece)
    feed.finished('s', [finished('text')])
    feed.emit('s', piece)
    expect(feed.blocks('s')).toEqual([])
    expect(emitted).toHaveLength(1)
  })

  it('of another process are shown once, from their first piece, until the log has them', () => {
    const { feed, emitted } = listening()
    feed.receive('s', { ...piece, offset: 0 })
    feed.receive('s', { ...piece, offset: 0 })
    feed.receive('s', { ...piece, text: 'lo, you', offset: 3 })
    feed.receive('s', { ...piece, offset: 99 })
    feed.receive('s', { ...piece, blockId: 'late', offset: 5 })
    expect(emitted).toMatchObject([
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

  it('of a lost agent are returned once', () => {
    const { feed } = listening()
    feed.emit('s', piece)
    expect(feed.unfinished('s')).toEqual([{ type: 'text', blockId: 'b', text: 'Hello', partial: true }])
    expect(feed.unfinished('s')).toEqual([])
  })
})

function listening() {
  const feed = new LiveFeed()
  const emitted: unknown[] = []
  feed.on(({ event }) => emitted.push(event))
  return { feed, emitted }
}

function finished(type: 'text' | 'turn_started'): SessionEvent {
  const envelope = { seq: 1, id: 'e', sessionId: 's', at: 0, turnId: 't' }
  return type === 'text' ? { ...envelope, type, blockId: 'b', text: 'Hello' } : { ...envelope, type }
}
