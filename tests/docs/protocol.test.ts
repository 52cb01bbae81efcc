import { errorCodes, permissionMode, sessionEvent, settlementKind, via } from '@askback/protocol'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const core = new URL('../../packages/core/src/', import.meta.url)
const page = readFileSync(new URL('../../docs/PROTOCOL.md', import.meta.url), 'utf8')
const rules = Array.from({ length: 13 }, (_, index) => `L${index + 1}`)

describe('docs/PROTOCOL.md', () => {
  it.each(
    sessionEvent.options.map((option) => [option.shape.type.value, Object.keys(option.shape)] as const),
  )('lists the event %s with its fields', (type, fields) => {
    const row = page.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${type}\``)) ?? ''
    const own = fields.filter(
      (field) => !['seq', 'id', 'sessionId', 'at', 'responseId', 'type'].includes(field),
    )
    for (const field of own.filter((name) => name !== 'turnId')) expect(row).toContain(field)
  })

  it.each([
    ...Object.keys(errorCodes),
    ...permissionMode.options,
    ...settlementKind.options,
    ...via.options,
    ...rules.map((rule) => `**${rule}**`),
  ])('mentions %s', (word) => {
    expect(page).toContain(word.startsWith('**') ? word : `\`${word}\``)
  })
})

it.each(rules)('a test of the core names the rule %s', (rule) => {
  const tests = readdirSync(core, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.test.ts'),
  )
  expect(tests.some((name) => readFileSync(new URL(name, core), 'utf8').includes(`[${rule}]`))).toBe(true)
})
