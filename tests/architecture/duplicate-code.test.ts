import { describe, expect, it } from 'vitest'
import { findDuplicates } from './duplicate-code.js'
import { sourceTexts } from './workspace.js'

/** About ten lines. Shorter windows find mostly code that is alike by chance. */
const MIN_TOKENS = 50

/** Copies that stay, by the pair of their files, each with its reason. */
const allowed: Record<string, string> = {
  'packages/cli/src/data-folder.ts | packages/store-sqlite/src/database-lock.ts':
    'Whether a process runs: short commands of the CLI must not load the SQLite driver, and the store must not load the CLI.',
  'packages/core/src/decide/interaction-events.ts | packages/protocol/src/lifecycle.ts':
    'one writes the fields of a settlement into an event, the other reads them; a loop over names would lose their types',
  'packages/core/src/store/memory-log.ts | packages/store-sqlite/src/deep-check.ts':
    'the deep check must not share code with what it checks',
  'packages/react/src/approval/tool-approval.tsx | packages/react/src/plan-review/plan-review.tsx':
    'both are cards: they call their hooks and show an invalid request in the same way',
}

describe('the repository', () => {
  const duplicates = findDuplicates(
    sourceTexts().filter(({ isTest }) => !isTest),
    MIN_TOKENS,
  ).map(({ files, lines }) => ({
    files: files.join(' | '),
    lines: lines.map((range) => range.join('-')).join(' | '),
  }))

  it('has no code twice in different folders', () => {
    expect(duplicates.filter(({ files }) => !(files in allowed))).toEqual([])
  })

  it('still has every copy that is listed', () => {
    const found = duplicates.map(({ files }) => files)
    expect(Object.keys(allowed).filter((files) => !found.includes(files))).toEqual([])
  })
})

describe('a copy', () => {
  const original = `
    /** Adds what is above the limit. */
    export function sumAbove(values: readonly number[], limit: number): number {
      let sum = 0
      for (const value of values) {
        if (value > limit) sum += value
      }
      return sum === 0 ? limit : Math.round(sum * 100) / 100
    }`

  it('is found under other names, with other comments and formatting', () => {
    const copy = original
      .replaceAll('sum', 'total')
      .replaceAll(/value\b/g, 'each')
      .replace('/** Adds what is above the limit. */', '// A copy.')
      .replace(' {\n        if', ' { if')
    expect(duplicatesOf(original, copy)).toEqual([
      {
        files: ['one/original.ts', 'other/copy.ts'],
        lines: [
          [3, 8],
          [3, 7],
        ],
      },
    ])
  })

  it('is not found where a property, a literal or a keyword differs', () => {
    expect(duplicatesOf(original, original.replace('Math.round', 'Math.floor'))).toEqual([])
    expect(duplicatesOf(original, original.replace('100', '10'))).toEqual([])
    expect(duplicatesOf(original, original.replace('let', 'var'))).toEqual([])
  })

  it('is not found where two names became one', () => {
    expect(duplicatesOf(original, original.replaceAll('limit', 'sum'))).toEqual([])
  })

  it('may be in the same folder, or in imports and types', () => {
    const inSameFolder = [
      { path: 'one/original.ts', text: original, isTest: false },
      { path: 'one/copy.ts', text: original, isTest: false },
    ]
    expect(findDuplicates(inSameFolder, MIN_TOKENS)).toEqual([])
    const types = `import { a } from 'a'\nexport interface Point {\n${'  x: number\n'.repeat(40)}}`
    expect(duplicatesOf(types, types)).toEqual([])
  })

  function duplicatesOf(first: string, second: string) {
    return findDuplicates(
      [
        { path: 'one/original.ts', text: first, isTest: false },
        { path: 'other/copy.ts', text: second, isTest: false },
      ],
      60,
    )
  }
})
