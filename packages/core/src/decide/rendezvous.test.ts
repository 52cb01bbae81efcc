import { CALL_FORGOTTEN_MS } from '@askback/protocol'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RENDEZVOUS_WAIT_MS, chooseCall, scoreCall, tokensOf, type RecordedCall } from './rendezvous.js'

const shell = (command: string) => ({ toolName: 'Bash', input: { command } })

describe('tokens', () => {
  it.each([
    ['run notes_create now', ['run', 'notes_create', 'notes', 'create', 'now']],
    ['a-b_c', ['a-b_c', 'a', 'b', 'c']],
    ['./bin/Ask.sh --to="Ada"', ['bin', 'ask', 'sh', '--to', 'to', 'ada']],
    ['größe=3', ['größe', '3']],
    ['', []],
    ['&& ; |', []],
  ])('of %j', (text, tokens) => {
    expect([...tokensOf(text)]).toEqual(tokens)
  })
})

describe('the score of a call', () => {
  // The three scores add up: a token that joins tool and operation also contains each of them.
  it.each([
    ['notes_create', shell('notes_create --title x'), 6],
    ['notes_create', shell('bin/notes-create'), 6],
    ['notes.create', shell('notes_create'), 6],
    ['notes_create', shell('notes create --title x'), 3],
    ['notes_create', shell('NOTES Create'), 3],
    ['notes_create', shell('create a file; open notes'), 3],
    ['notes_create', shell('notes list'), 2],
    ['notes_create', shell('create-react-app'), 1],
    ['notes_create', shell('ls'), 0],
    ['notes_create_page', shell('notes create_page'), 3],
    ['notes_create_page', shell('notes create page'), 2],
    ['deploy', shell('deploy --now'), 2],
    ['Bash', shell('ls'), 2],
    ['notes_create', { toolName: 'notes_create', input: null }, 6],
    ['notes_create', { toolName: 'x', input: { argv: ['notes', { op: 'create' }] } }, 3],
    ['notes_create', { toolName: 'x', input: { notes: 1, create: true } }, 0],
    ['', shell('ls'), 0],
    ['_create', shell('create'), 1],
    ['notes_', shell('notes'), 2],
  ])('%s against %j is %i', (toolName, call, score) => {
    expect(scoreCall(toolName, call)).toBe(score)
  })

  it('compares whole tokens: "ask" does not match "task"', () => {
    expect(scoreCall('ask_user', shell('task users'))).toBe(0)
    expect(scoreCall('ask_user', shell('npm run multitask_user_list'))).toBe(1)
  })

  it('reads a bounded part of the arguments, and not the token that is cut at its end', () => {
    expect(scoreCall('notes', shell(`${'x '.repeat(40_000)} notes`))).toBe(2)
    expect(scoreCall('notes', shell(`${'x '.repeat(60_000)} notes`))).toBe(0)
    expect(scoreCall('x', shell(`${' '.repeat(99_999)}xyz`))).toBe(0)
    expect(scoreCall('x', { toolName: '', input: Array.from({ length: 200_000 }, () => 1) })).toBe(0)
  })

  it('a long token takes linear time', () => {
    expect(scoreCall('x', shell(`${'y'.repeat(99_990)}!${'z'.repeat(1_000_000)}`))).toBe(0)
  })
})

describe('choosing a call', () => {
  const call = (toolCallId: string, command: string, more: Partial<RecordedCall> = {}): RecordedCall => ({
    toolCallId,
    ...shell(command),
    at: 0,
    ...more,
  })
  const choose = (calls: RecordedCall[], more: { final?: boolean; now?: number; claimed?: string[] } = {}) =>
    chooseCall({
      calls,
      claimed: new Set(more.claimed),
      toolName: 'notes_create',
      now: more.now ?? 0,
      final: more.final ?? false,
    })

  it('waits one second', () => {
    expect(RENDEZVOUS_WAIT_MS).toBe(1000)
  })

  it('a score of 3 or more ends the wait at once', () => {
    expect(choose([call('a', 'ls'), call('b', 'notes create')])).toEqual({ toolCallId: 'b', score: 3 })
  })

  it('a lower score counts only at the end of the wait', () => {
    const calls = [call('a', 'create x'), call('b', 'notes list')]
    expect(choose(calls)).toBe('wait')
    expect(choose(calls, { final: true })).toEqual({ toolCallId: 'b', score: 2 })
  })

  it('the highest score wins, and ties go to the oldest', () => {
    const calls = [call('a', 'notes create'), call('b', 'notes_create'), call('c', 'notes-create')]
    expect(choose(calls)).toEqual({ toolCallId: 'b', score: 6 })
    expect(choose([calls[2]!, calls[1]!])).toEqual({ toolCallId: 'c', score: 6 })
  })

  it('an old `ls` does not win over the right call that is recorded 50 ms later', () => {
    const stale = call('stale', 'ls')
    expect(choose([stale], { now: 0 })).toBe('wait')
    expect(choose([stale, call('right', 'notes create', { at: 50 })], { now: 50 })).toEqual({
      toolCallId: 'right',
      score: 3,
    })
  })

  it('at the end of the wait the newest unclaimed shell call is chosen', () => {
    const calls = [call('a', 'ls'), call('b', 'pwd'), call('c', 'date'), call('d', 'x', { toolName: 'Read' })]
    expect(choose(calls, { final: true })).toEqual({ toolCallId: 'c', score: 0 })
    expect(choose(calls, { final: true, claimed: ['c'] })).toEqual({ toolCallId: 'b', score: 0 })
  })

  it.each([
    'bash',
    'Bash',
    'shell',
    'Terminal',
    'SHELL_COMMAND',
    'exec_command',
    'local_shell',
    'command_execution',
  ])('%s counts as a shell tool', (toolName) => {
    expect(choose([call('a', 'x', { toolName })], { final: true })).toEqual({ toolCallId: 'a', score: 0 })
  })

  it('chooses none if no call fits', () => {
    expect(choose([call('a', 'x', { toolName: 'Read' })], { final: true })).toBeNull()
    expect(choose([], { final: true })).toBeNull()
    expect(choose([])).toBe('wait')
  })

  it('a claimed call is not chosen again', () => {
    const calls = [call('a', 'notes create'), call('b', 'notes create')]
    expect(choose(calls, { claimed: ['a'] })).toEqual({ toolCallId: 'b', score: 3 })
    expect(choose(calls, { claimed: ['a', 'b'], final: true })).toBeNull()
  })

  it('a call can be chosen until 30 s after its end', () => {
    const calls = [call('a', 'notes create', { endedAt: 1000 })]
    expect(choose(calls, { now: 1000 + CALL_FORGOTTEN_MS - 1 })).toEqual({ toolCallId: 'a', score: 3 })
    expect(choose(calls, { now: 1000 + CALL_FORGOTTEN_MS })).toBe('wait')
    expect(choose(calls, { now: 1000 + CALL_FORGOTTEN_MS, final: true })).toBeNull()
  })

  it('chooses only free calls, and does not wait when the choice is final', () => {
    const command = fc.constantFrom('ls', 'notes', 'create', 'notes create', 'notes_create')
    const calls = fc.array(fc.record({ command, endedAt: fc.option(fc.nat(40_000)), claimed: fc.boolean() }))
    fc.assert(
      fc.property(calls, fc.boolean(), (specs, final) => {
        const made = specs.map((spec, index) =>
          call(String(index), spec.command, spec.endedAt === null ? {} : { endedAt: spec.endedAt }),
        )
        const claimed = specs.flatMap((spec, index) => (spec.claimed ? [String(index)] : []))
        const chosen = choose(made, { now: 40_000, final, claimed })
        if (chosen === 'wait' || chosen === null) {
          expect(chosen).toBe(final ? null : 'wait')
          return
        }
        const spec = specs[Number(chosen.toolCallId)]!
        expect(spec.claimed).toBe(false)
        expect(spec.endedAt ?? 40_000).toBeGreaterThan(10_000)
        expect(chosen.score >= 3 || final).toBe(true)
      }),
    )
  })
})
