import {
  emptyState,
  fold,
  stateFromJson,
  stateToJson,
  type NewEvent,
  type SessionStateJson,
} from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { draw } from '../testing/draw.js'
import { EventLog, started } from '../testing/session-events.js'
import { createLayout, layout } from './layout.js'

/** The events of a session, and its layout as `draw` writes it. */
export type LayoutCases = Record<string, { events: NewEvent[]; drawn: string }>

export function layoutCases(cases: LayoutCases): void {
  describe.each(Object.entries(cases))('%s', (_name, { events, drawn }) => {
    const log = new EventLog()
    log.append(started())
    for (const event of events) log.append(event)

    it('has this layout', () => {
      expect(draw(layout(fold(emptyState('s1'), log.events)))).toBe(dedent(drawn))
    })

    it('has the same layout at every step, live, replayed and from a snapshot', () => {
      const live = createLayout()
      let state = emptyState('s1')
      for (const [index, event] of log.events.entries()) {
        state = fold(state, [event])
        const replayed = layout(fold(emptyState('s1'), log.events.slice(0, index + 1)))
        expect(live(state)).toEqual(replayed)
        const json = JSON.parse(JSON.stringify(stateToJson(state))) as SessionStateJson
        expect(layout(stateFromJson(json))).toEqual(replayed)
      }
    })
  })
}

export const by = { id: 'ada', name: 'Ada' }
export const r1 = { responseId: 'r1' }

export function onCall(toolCallId: string) {
  return { toolCallId }
}

export function turn(turnId: string): NewEvent {
  return { type: 'turn_started', turnId }
}

export function over(turnId: string, reason: 'done' | 'error' | 'interrupted' = 'done'): NewEvent {
  return { type: 'turn_ended', turnId, reason }
}

export function says(text: string, turnId?: string): NewEvent {
  return { type: 'user_message', text, by, ...(turnId !== undefined && { turnId }) }
}

function dedent(text: string): string {
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.slice(6))
    .join('\n')
}
