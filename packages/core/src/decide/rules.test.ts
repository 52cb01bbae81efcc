import { digestOf, type Json } from '@askback/protocol'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  RULES_PREFIX,
  newRule,
  ruleKey,
  ruleKeys,
  ruleWrite,
  sessionRulesPrefix,
  type RuleBounds,
} from './rules.js'

const session: RuleBounds = { sessionId: 's1', cwd: '/home/ada', agent: 'claude' }
const by = { id: 'ada', name: 'Ada' }
const rule = (scope: 'session' | 'always', input: Json = { command: 'ls' }, bounds = session) =>
  newRule({ scope, toolName: 'Bash', input, session: bounds, by, at: 5 })

function allows(
  written: ReturnType<typeof rule>,
  asked: { toolName: string; input: Json; session: RuleBounds },
): boolean {
  const { toolName, input } = asked
  const call = { toolName, input, digest: digestOf(toolName, input) }
  return ruleKeys(asked.session, call).includes(ruleWrite(written).key)
}

describe('approval rules', () => {
  it('a session rule has a key of its session and describes what it allows', () => {
    const written = ruleWrite(rule('session'))
    expect(written.key).toBe(`rule/session/s1/${digestOf('Bash', { command: 'ls' })}`)
    expect(written.key.startsWith(sessionRulesPrefix('s1'))).toBe(true)
    expect(written.value).toEqual({
      id: expect.any(String) as string,
      scope: 'session',
      toolName: 'Bash',
      input: { command: 'ls' },
      sessionId: 's1',
      by,
      at: 5,
    })
  })

  it('an always rule is bound to its folder and its agent', () => {
    const written = ruleWrite(rule('always'))
    expect(written.key).toMatch(/^rule\/always\/[0-9a-f]{64}\/[0-9a-f]{64}$/)
    expect(written.key.startsWith(RULES_PREFIX)).toBe(true)
    expect(written.value).toMatchObject({ scope: 'always', cwd: '/home/ada', agent: 'claude' })
    expect(written.value).not.toHaveProperty('sessionId')
  })

  const asked = { toolName: 'Bash', input: { command: 'ls' }, session }
  it.each<[string, typeof asked, { session: boolean; always: boolean }]>([
    ['the same call', asked, { session: true, always: true }],
    [
      'the same call in another session',
      { ...asked, session: { ...session, sessionId: 's2' } },
      { session: false, always: true },
    ],
    [
      'another folder',
      { ...asked, session: { ...session, sessionId: 's2', cwd: '/home' } },
      { session: false, always: false },
    ],
    [
      'another agent',
      { ...asked, session: { ...session, agent: 'codex' } },
      { session: true, always: false },
    ],
    ['no agent', { ...asked, session: { ...session, agent: null } }, { session: true, always: false }],
    ['no folder', { ...asked, session: { ...session, cwd: null } }, { session: true, always: false }],
    ['another tool', { ...asked, toolName: 'bash' }, { session: false, always: false }],
    [
      'a longer command',
      { ...asked, input: { command: 'ls && rm -rf x' } },
      { session: false, always: false },
    ],
    [
      'one more argument',
      { ...asked, input: { command: 'ls', cwd: '/' } as Json } as typeof asked,
      { session: false, always: false },
    ],
  ])('rule drift: for %s', (_, call, expected) => {
    expect({ session: allows(rule('session'), call), always: allows(rule('always'), call) }).toEqual(expected)
  })

  it('the order of keys in the input does not matter', () => {
    expect(rule('always', { a: 1, b: 2 }).id).toBe(rule('always', { b: 2, a: 1 }).id)
  })

  it('always needs a folder', () => {
    expect(() => rule('always', {}, { ...session, cwd: null })).toThrow(
      expect.objectContaining({ code: 'invalid_answer' }),
    )
  })

  it('a rule of a declared default has no actor', () => {
    const written = newRule({ scope: 'session', toolName: 'Bash', input: 1, session, at: 0 })
    expect(written).not.toHaveProperty('by')
  })

  it('the id is converted back to the key for any session id', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.constantFrom('session', 'always'), (sessionId, scope) => {
        const made = rule(scope, {}, { ...session, sessionId })
        const call = { toolName: 'Bash', input: {}, digest: digestOf('Bash', {}) }
        expect(ruleKeys({ ...session, sessionId }, call)).toContain(ruleKey(made.id))
      }),
    )
  })

  it.each([
    '',
    'session',
    'session.s1',
    `user.s1.${'0'.repeat(64)}`,
    `always..${'0'.repeat(64)}`,
    'session.s1.xyz',
  ])('%j is not the id of a rule', (id) => {
    expect(ruleKey(id)).toBeNull()
  })
})
