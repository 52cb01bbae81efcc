import { fakeClock } from '@askback/core/testing'
import { describe, expect, it } from 'vitest'
import type { ClaudeCall } from './hooks.js'
import { parkingHook } from './parking.js'

const AFTER_MS = 120_000
const input = {
  hook_event_name: 'PreToolUse',
  tool_name: 'AskUserQuestion',
  tool_use_id: 't1',
  tool_input: { questions: [] },
}

/** A hook whose request is settled when the test calls `settle`. */
function pendingCall({ canPark = true } = {}) {
  const clock = fakeClock()
  const asked: ClaudeCall[] = []
  let settle = () => {}
  const ask = (call: ClaudeCall) => {
    asked.push(call)
    return new Promise<void>((resolve, reject) => {
      settle = resolve
      call.signal.addEventListener('abort', () => reject(new Error('stopped waiting')))
    })
  }
  const hook = parkingHook({ afterMs: AFTER_MS, clock, ask, canPark: () => canPark })
  const interrupt = new AbortController()
  return {
    clock,
    asked,
    interrupt,
    settle: () => settle(),
    call: (more: object = {}) => hook({ ...input, ...more }, 't1', { signal: interrupt.signal }),
  }
}

const deferred = { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'defer' } }

describe('a call that waits for a person', () => {
  it('is deferred after the given time, and not before', async () => {
    const { clock, call } = pendingCall()
    const decided = call()
    clock.advance(AFTER_MS - 1)
    expect(clock.armed).toBe(1)
    clock.advance(1)
    expect(await decided).toEqual(deferred)
    expect(clock.armed).toBe(0)
  })

  it('is left to Claude Code if it is answered in time', async () => {
    const { clock, call, settle } = pendingCall()
    const decided = call()
    settle()
    expect(await decided).toEqual({})
    expect(clock.armed).toBe(0)
  })

  it('is left to Claude Code if it is interrupted', async () => {
    const { call, interrupt } = pendingCall()
    const decided = call()
    interrupt.abort()
    expect(await decided).toEqual({})
  })

  it('is left to Claude Code if the process cannot be parked', async () => {
    const { clock, call } = pendingCall({ canPark: false })
    const decided = call()
    clock.advance(AFTER_MS)
    expect(await decided).toEqual({})
  })

  it('is left to Claude Code at once if it is a subagent’s, whose conversation would end with the process', async () => {
    const { asked, clock, call } = pendingCall()
    expect(await call({ agent_id: 'a1' })).toEqual({})
    expect(asked).toEqual([])
    expect(clock.armed).toBe(0)
  })
})
