import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from './workspace.js'

interface Proof {
  file: string
  names: string[]
}

const page = readFileSync(join(root, 'docs/EXPERIENCE.md'), 'utf8')
const promises = page
  .split(/\n(?=- |#)/)
  .filter((part) => part.startsWith('- '))
  .map((part): [string, Proof[]] => {
    const [promise = '', ...proofs] = part.slice(2).split(/\n {2}- /)
    return [oneLine(promise), proofs.map(proofOf)]
  })

function proofOf(text: string): Proof {
  const line = oneLine(text)
  const file = /^\[[^\]]+\]\(\.\.\/([^)]+)\): /.exec(line)?.[1] ?? ''
  return { file, names: [...line.matchAll(/"([^"]+)"/g)].map(([, name]) => name!) }
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

/** The title of a test or of a group of tests is the first argument of a call. */
function hasTest(source: string, name: string): boolean {
  const literal = name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`\\(\\s*(['"\`])${literal}\\1`).test(source)
}

it('docs/EXPERIENCE.md has promises', () => {
  expect(promises.length).toBeGreaterThan(80)
})

it.each(promises)('“%s” names tests that exist', (_promise, proofs) => {
  expect(proofs.length).toBeGreaterThan(0)
  for (const { file, names } of proofs) {
    const source = readFileSync(join(root, file), 'utf8')
    expect(names.length).toBeGreaterThan(0)
    for (const name of names)
      expect({ file, name, exists: hasTest(source, name) }).toMatchObject({ exists: true })
  }
})
