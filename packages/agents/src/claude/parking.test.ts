import { fakeClock } from '@askback/core/testing'
import { describe, expect, it } from 'vitest'
import type { Call } from './hooks.js'
import { parkingHook } from './parking.js'

const AFTER_MS = 120_000
const input = {
  hook_event_name: 'PreToolUse',
  tool_name: 'AskUserQuestion',
  tool_use_id: 't1',
  tool_input: { questions: [] },
}

/** A hook whose person answers when the test says so. */
function waiting({ isSole = true } = {}) {
  const clock = fakeClock()
  const asked: Call[] = []
  let settle = () => {}
  const ask = (call: Call) => {
    asked.push(call)
    return new Promise<void>((resolve, reject) => {
      settle = resolve
      call.signal.addEventListener('abort', () => reject(new Error('stopped waiting')))
    })
  }
  const hook = parkingHook({ afterMs: AFTER_MS, clock, ask, isSole: () => isSole })
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
  it('is put off after the time that was set, and not before', async () => {
    const { clock, call } = waiting()
    const decided = call()
    clock.advance(AFTER_MS - 1)
    expect(clock.armed).toBe(1)
    clock.advance(1)
    expect(await decided).toEqual(deferred)
    expect(clock.armed).toBe(0)
  })

  it('goes the usual way if it is answered in time', async () => {
    const { clock, call, settle } = waiting()
    const decided = call()
    settle()
    expect(await decided).toEqual({})
    expect(clock.armed).toBe(0)
  })

  it('goes the usual way if it is interrupted', async () => {
    const { call, interrupt } = waiting()
    const decided = call()
    interrupt.abort()
    expect(await decided).toEqual({})
  })

  it('goes the usual way if it is not the only one', async () => {
    const { clock, call } = waiting({ isSole: false })
    const decided = call()
    clock.advance(AFTER_MS)
    expect(await decided).toEqual({})
  })

  it('goes the usual way at once if it is a subagent’s: its conversation would end with the program', async () => {
    const { asked, clock, call } = waiting()
    expect(await call({ agent_id: 'a1' })).toEqual({})
    expect(asked).toEqual([])
    expect(clock.armed).toBe(0)
  })
})
