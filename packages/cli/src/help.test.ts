import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { commandHelp, type CommandHelp } from './command-help.js'
import { asksForHelp, helpOf, overview } from './help.js'

const source = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')
/** Where the flags of a command are, if not in a file of its name. */
const files: Record<string, string> = { serve: 'serve/options.ts', uninstall: 'install.ts' }
const shared: Record<string, string> = { WHERE: 'reach/connection.ts', ASKING: 'asking/command.ts' }

/** The names that `parseArgs` is given. */
function flagsIn(text: string): string[] {
  const own = Array.from(text.matchAll(/'?([a-z-]+)'?: \{ type: '(?:string|boolean)'/g), ([, name]) => name!)
  const spread = /\.\.\.(WHERE|ASKING)\b|options: (WHERE)\b/g
  const others = Array.from(text.matchAll(spread), ([, one, other]) =>
    flagsIn(source(shared[(one ?? other)!]!)),
  )
  return [...own, ...others.flat()]
}

describe.each(Object.entries<CommandHelp>(commandHelp))('askback %s --help', (name, help) => {
  const text = helpOf(help)

  it('has a usage line, options and examples', () => {
    expect(text).toMatch(new RegExp(`^Usage: askback ${name}\\b`))
    expect(text).toContain('\nOptions:\n  --')
    expect(text).toMatch(/\nExamples:\n {2}\S/)
  })

  it('lists every option that the command takes, and no other', () => {
    const listed = Array.from(text.matchAll(/^ {2}--([a-z-]+)/gm), ([, flag]) => flag!)
    expect(listed.toSorted()).toEqual([...new Set(flagsIn(source(files[name] ?? `${name}.ts`)))].toSorted())
  })

  it('fits a terminal, as does the overview', () => {
    for (const line of `${text}${overview()}`.split('\n')) expect(line.length).toBeLessThanOrEqual(120)
  })
})

it('takes the help of a command for what stands before --', () => {
  expect(asksForHelp(['a', '--help'])).toBe(true)
  expect(asksForHelp(['-h'])).toBe(true)
  expect(asksForHelp(['a', '--', '--help'])).toBe(false)
})
