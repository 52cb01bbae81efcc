import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { root, sourceTexts } from './workspace.js'

/** The most files that a reader may have to open for each walk. A walk that grows needs fewer files elsewhere. */
const MAX_FILES = { A: 49, B: 45, C: 47 }

const page = readFileSync(join(root, 'docs/ARCHITECTURE.md'), 'utf8')

interface Walk {
  name: string
  stated: number
  steps: { number: number; file: string }[]
  text: string
}

const walks = page.split(/\n(?=##+ )/).flatMap((text): Walk[] => {
  const heading = /^### Walk ([A-Z]): .*?(\d+) files\n/.exec(text)
  if (!heading) return []
  const steps = [...text.matchAll(/^(\d+)\. `([^`]+)`: \S/gm)].map(([, number, file]) => ({
    number: Number(number),
    file: file!,
  }))
  return [{ name: heading[1]!, stated: Number(heading[2]), steps, text }]
})

it('docs/ARCHITECTURE.md has the three walks', () => {
  expect(walks.map(({ name }) => name)).toEqual(Object.keys(MAX_FILES))
})

it.each(walks)(
  'walk $name lists as many files as it says, in order and each once',
  ({ steps, stated, text }) => {
    const lines = text.split('\n').filter((line) => /^\d+\. /.test(line))
    expect(steps.map(({ number }) => number)).toEqual(lines.map((_, index) => index + 1))
    expect(new Set(steps.map(({ file }) => file)).size).toBe(stated)
    expect(steps).toHaveLength(stated)
  },
)

it.each(walks)('walk $name is not longer than its limit', ({ name, stated }) => {
  expect(stated).toBeLessThanOrEqual(MAX_FILES[name as keyof typeof MAX_FILES])
})

it('the walks refer to steps that exist', () => {
  const lengths = new Map(walks.map(({ name, stated }) => [name, stated]))
  const references = [...page.matchAll(/\b([A-C])(\d+)\b/g)]
  expect(references.length).toBeGreaterThan(5)
  const missing = references.filter(
    ([, walk, step]) => Number(step) < 1 || Number(step) > lengths.get(walk!)!,
  )
  expect(missing.map(([reference]) => reference)).toEqual([])
})

it.each(['docs/ARCHITECTURE.md', 'CONTRIBUTING.md'])('%s names only files that exist', (document) => {
  const names = namesIn(readFileSync(join(root, document), 'utf8'))
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter((name) => !exists(name))).toEqual([])
})

/** Paths and names of files in code spans, and paths of folders. Those with `<name>`, `YYYY` or `…` in them are patterns. */
function namesIn(text: string): string[] {
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!)
  return spans.filter(
    (span) => /^[\w./-]+\.(?:tsx?|mjs|json|md)$|^[\w.-]+\/[\w./-]*\/$/.test(span) && !span.includes('YYYY'),
  )
}

const fileNames = new Set(sourceTexts().map(({ path }) => basename(path)))

function exists(name: string): boolean {
  return existsSync(join(root, name)) || (!name.includes('/') && fileNames.has(name))
}
