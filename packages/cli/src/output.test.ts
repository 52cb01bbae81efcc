import { expect, it } from 'vitest'
import { jsonLine } from './output.js'

it('escapes in JSON what a terminal acts on or hides, and keeps the value', () => {
  const value = { title: 'a\u009b2J\u202eb\u{e0041} é 👍🏽 "\\', list: ['\u001b[2J', '日本'] }
  const line = jsonLine(value)
  expect(JSON.parse(line)).toEqual(value)
  expect(line).toBe(
    String.raw`{"title":"a\u009b2J\u202eb\udb40\udc41 é 👍🏽 \"\\","list":["\u001b[2J","日本"]}`,
  )
})
