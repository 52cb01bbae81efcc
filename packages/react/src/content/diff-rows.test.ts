import { describe, expect, it } from 'vitest'
import { countChanges, diffRows, foldRows, type DiffItem } from './diff-rows.js'

const numbered = (count: number) => Array.from({ length: count }, (_, line) => `line ${line}`).join('\n')

function kinds(items: DiffItem[]): string[] {
  return items.map((item) => (item.kind === 'row' ? item.row.type : `${item.kind} ${item.rows.length}`))
}

describe('a diff', () => {
  it('numbers the lines of a new file, but not those of a part of a file', async () => {
    const file = await diffRows({ before: '', after: 'a\nb\n', firstLine: 1 })
    expect(file.map(({ after }) => after)).toEqual([1, 2])
    const piece = await diffRows({ before: 'a\nb', after: 'a\nc' })
    expect(piece.every((row) => row.before === null && row.after === null)).toBe(true)
  })

  it('numbers the lines of each side on its own', async () => {
    const rows = await diffRows({ before: 'a\nb\nc\n', after: 'a\nx\ny\nc\n', firstLine: 7 })
    expect(rows.map(({ type, before, after, text }) => [type, before, after, text])).toEqual([
      ['same', 7, 7, 'a'],
      ['removed', 8, null, 'b'],
      ['added', null, 8, 'x'],
      ['added', null, 9, 'y'],
      ['same', 9, 10, 'c'],
    ])
    const patch = await diffRows({ patch: '@@ -3,2 +5,2 @@\n a\n-b\n+x\n c\n' })
    expect(patch.map(({ before, after }) => [before, after])).toEqual([
      [null, null],
      [3, 5],
      [4, null],
      [null, 6],
      [5, 7],
    ])
  })

  it('counts added and removed lines of all files together', async () => {
    const edits = [
      { before: 'a\nb\nc\n', after: 'a\nx\ny\nc\n' },
      { before: 'a\nb\n', after: '' },
    ]
    expect(countChanges(await Promise.all(edits.map(diffRows)))).toEqual({ added: 2, removed: 3 })
  })

  it('folds unchanged lines far from a change', async () => {
    const before = numbered(40)
    const rows = await diffRows({ before, after: before.replace('line 20', 'changed') })
    expect(kinds(foldRows(rows))).toEqual([
      'unchanged 17',
      'same',
      'same',
      'same',
      'removed',
      'added',
      'same',
      'same',
      'same',
      'unchanged 16',
    ])
  })

  it('groups added blank lines apart from removed ones', async () => {
    const rows = await diffRows({ before: 'a\n' + '\n'.repeat(5), after: `b\n${'\n'.repeat(60)}rm -rf /\n` })
    const blank = foldRows(rows).filter(({ kind }) => kind === 'blank')
    for (const item of blank)
      expect(new Set(item.kind === 'blank' ? item.rows.map(({ type }) => type) : []).size).toBe(1)
    expect(kinds(foldRows(rows)).length).toBeLessThan(12)
  })

  it('never folds a line of a patch without a mark', async () => {
    const patch = `@@ -1,9 +1,9 @@\n${' same\n'.repeat(9)}Moved to: /etc/passwd\n${' same\n'.repeat(9)}`
    const texts = foldRows(await diffRows({ patch })).map((item) =>
      item.kind === 'row' ? item.row.text : '',
    )
    expect(texts).toContain('Moved to: /etc/passwd')
  })

  it('never folds what only a patch calls unchanged', async () => {
    const patch = `@@ -1,60 +1,60 @@\n${' x\n'.repeat(20)} rm -rf ~\n${' x\n'.repeat(20)}-a\n+b\n`
    const items = foldRows(await diffRows({ patch }))
    expect(new Set(items.map(({ kind }) => kind))).toEqual(new Set(['row']))
    expect(items).toHaveLength(44)
  })

  it('marks the side that ends without a line break', async () => {
    const rows = await diffRows({ before: 'a', after: 'a\n' })
    expect(rows.map(({ type, lacksLineBreak }) => [type, lacksLineBreak])).toEqual([
      ['removed', true],
      ['added', undefined],
    ])
  })
})
