import { expect, it } from 'vitest'
import type { AgentAdapter } from './agent.js'
import { AgentList } from './agent-list.js'

function adapter(id: string, name = id): AgentAdapter {
  return {
    id,
    name,
    check: () => Promise.resolve({ available: true }),
    start: () => Promise.reject(new Error('Not started in this test.')),
  }
}

it.each([
  ['the same id', adapter('claude'), adapter('claude', 'Another')],
  ['the same name', adapter('a', 'Claude'), adapter('b', 'Claude')],
  ['another case', adapter('a', 'Claude'), adapter('b', 'claude')],
  ['a Cyrillic letter', adapter('a', 'Claude'), adapter('b', 'Cl\u0430ude')],
  ['a digit for a letter', adapter('a', 'Claude'), adapter('b', 'C1aude')],
  ['the id of another as its name', adapter('claude', 'Mine'), adapter('b', 'claude')],
])('an agent with %s as another is refused', (_, one, other) => {
  expect(() => new AgentList([one, other])).toThrow(/Rename one|plain, visible text/)
})

it.each([
  ['empty', ''],
  ['space around', ' Claude'],
  ['a zero-width space', 'Cl\u200baude'],
  ['a line break', 'Claude\nApproved'],
  ['full-width letters', '\uff23laude'],
  ['a superscript', 'Claude\u00b2'],
  ['a sign for a letter', '\u2126mega'],
  ['reversed text', '\u202eedualC'],
])('a name is refused that has or is: %s', (_, name) => {
  expect(() => new AgentList([adapter('a', name)])).toThrow('plain, visible text')
})

it('an agent may be called as its id says, in any script', () => {
  const list = new AgentList([
    adapter('claude', 'Claude'),
    adapter('codex'),
    adapter('a', 'Агент'),
    adapter('b', '助手'),
  ])
  expect(list.find('a')?.name).toBe('Агент')
})
