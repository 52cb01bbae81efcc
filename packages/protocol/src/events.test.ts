import { describe, expect, it } from 'vitest'
import type * as z from 'zod'
import { liveEvent, parseEvent, sessionEvent, type NewEvent } from './events.js'

const envelope = { seq: 1, id: 'e1', sessionId: 's1', at: 1 }
const anchored = { interactionId: 'i1', toolCallId: 't1', toolName: 'Bash' }
const by = { id: 'ada', name: 'Ada' }

const examples: NewEvent[] = [
  { type: 'session_started', agent: null, permissionMode: 'default' },
  { type: 'user_message', text: 'hi', by },
  { type: 'turn_started', turnId: 'u1' },
  { type: 'turn_ended', turnId: 'u1', reason: 'done' },
  { type: 'text', blockId: 'b1', text: 'hello' },
  { type: 'thinking', blockId: 'b2', text: 'hm', partial: true },
  { type: 'tool_call', toolCallId: 't1', toolName: 'Bash', input: null, source: 'agent' },
  { type: 'tool_result', toolCallId: 't1', output: [1], isError: false, truncated: 5 },
  { type: 'interaction_pending', ...anchored, pending: true, presentation: 'tool', reason: 'requested' },
  {
    type: 'interaction_request',
    ...anchored,
    kind: 'approval',
    presentation: 'tool',
    request: { input: {} },
    digest: 'd',
    requestedAt: 1,
    expiresAt: 2,
    onTimeout: { answer: null },
    errors: { a: 'Required.' },
  },
  { type: 'interaction_progress', interactionId: 'i1', answers: [] },
  {
    type: 'interaction_response',
    ...anchored,
    kind: 'approval',
    digest: 'd',
    settlement: 'denied',
    message: 'no',
    by,
    via: 'web',
  },
  { type: 'interaction_delivered', interactionId: 'i1', toolCallId: 't1', to: 'agent' },
  { type: 'session_status', status: 'waiting', permissionMode: 'plan' },
  { type: 'session_tags', tags: { tenant: 'acme' } },
  { type: 'agent_session', agentSessionId: 'x' },
  { type: 'context_cleared' },
  { type: 'error', code: 'x', message: 'y', fatal: true },
]

describe('parsing an event', () => {
  it('is tested with an example of every type', () => {
    const types = sessionEvent.options.map((option) => option.shape.type.value)
    expect(examples.map((event) => event.type)).toEqual(types)
  })

  it.each(examples.map((event) => [event.type, event] as const))('accepts %s', (_, event) => {
    const value = { ...envelope, ...event }
    expect(parseEvent(value)).toBe(value)
    expect(parseEvent(JSON.parse(JSON.stringify(value)))).toEqual(value)
  })

  it.each(examples.map((event) => [event.type, event] as const))(
    'refuses a %s without one of its required fields',
    (_, event) => {
      const value = { ...envelope, ...event }
      const schema = sessionEvent.options.find((option) => option.shape.type.value === event.type)!
      for (const [key, field] of Object.entries<z.ZodType>(schema.shape)) {
        if (field.safeParse(undefined).success || key === 'type') continue
        expect(() => parseEvent({ ...value, [key]: undefined })).toThrow(
          expect.objectContaining({ code: 'invalid_request' }),
        )
      }
    },
  )

  it('accepts fields that a later version has added', () => {
    expect(parseEvent({ ...envelope, ...examples[1], mood: 'good' })).toHaveProperty('mood', 'good')
  })

  it('accepts a type that a later version has added, but checks its envelope', () => {
    const value = { ...envelope, type: 'weather_report', sky: 'blue' }
    expect(parseEvent(value)).toBe(value)
    expect(() => parseEvent({ ...value, seq: 0 })).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    )
    expect(() => parseEvent({ ...value, id: undefined })).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    )
  })

  it.each([
    null,
    undefined,
    'text',
    7,
    [],
    {},
    { ...envelope },
    { ...envelope, type: 7 },
    { ...envelope, ...examples[1], seq: '1' },
    { ...envelope, ...examples[1], seq: 1.5 },
    { ...envelope, ...examples[1], seq: 0 },
    { ...envelope, ...examples[1], at: Number.NaN },
    { ...envelope, ...examples[1], sessionId: '' },
    { ...envelope, ...examples[1], by: 'ada' },
    { ...envelope, type: 'session_started', agent: null, permissionMode: 'yolo' },
    { ...envelope, type: 'turn_ended', turnId: 'u1', reason: 'bored' },
  ])('refuses %j', (value) => {
    expect(() => parseEvent(value)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  })
})

describe('live events', () => {
  it.each([
    { type: 'text_delta', blockId: 'b1', offset: 0, text: 'h' },
    { type: 'thinking_delta', blockId: 'b1', offset: 3, text: 'm' },
    { type: 'tool_call_delta', toolCallId: 't1', toolName: 'Bash', offset: 0, partialInput: '{"com' },
    { type: 'tool_output_delta', toolCallId: 't1', offset: 9, text: 'ok' },
  ])('%j is accepted, but not as an event of the log', (event) => {
    expect(liveEvent.safeParse(event).success).toBe(true)
    expect(liveEvent.safeParse({ ...event, offset: -1 }).success).toBe(false)
    expect(sessionEvent.safeParse({ ...envelope, ...event }).success).toBe(false)
  })
})
