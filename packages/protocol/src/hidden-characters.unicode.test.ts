import { describe, expect, it } from 'vitest'
import { splitHiddenCharacters, type Strictness } from './hidden-characters.js'

// Every code point of Unicode. The expectations are written with the names of the general categories, so that they do not
// repeat the patterns under test.
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zs}\p{Zl}\p{Zp}]/u
/** Assigned as letters or symbols, but drawn as nothing. */
const BLANKS = '\u2800\u{16fe4}\u{1d159}\u{13441}\u{13442}\ufffc'
const PLAIN: Record<Strictness, string> = { prose: '\t\n \u00a0\u202f\u3000', code: '\t\n ' }

const characters = Array.from({ length: 0x110000 }, (_, point) => String.fromCodePoint(point))

/** All characters in one text, separated by spaces: a call for each of a million would take too long. */
function spelledOut(strictness: Strictness, around = (character: string) => character): Set<string> {
  const text = characters.map(around).join(' ')
  const pieces = splitHiddenCharacters(text, strictness)
  expect(pieces.map((piece) => ('shown' in piece ? piece.shown : piece.hidden)).join('') === text).toBe(true)
  return new Set(pieces.flatMap((piece) => ('hidden' in piece ? [piece.hidden] : [])))
}

function named(found: string[]): string[] {
  return found.map((character) => character.codePointAt(0)!.toString(16))
}

function canBeSeen(character: string, strictness: Strictness): boolean {
  if (PLAIN[strictness].includes(character)) return true
  return !INVISIBLE.test(character) && !BLANKS.includes(character)
}

const byItself = { prose: spelledOut('prose'), code: spelledOut('code') }
const betweenLetters = { prose: spelledOut('prose', betweenTwo), code: spelledOut('code', betweenTwo) }

function betweenTwo(character: string): string {
  return `a${character}b`
}

describe.each(['prose', 'code'] as const)('every code point in %s', (strictness) => {
  it('is spelled out if it cannot be seen, by itself and between two letters', () => {
    const found = [byItself[strictness], betweenLetters[strictness]]
    const missed = characters.filter(
      (character) => !canBeSeen(character, strictness) && found.some((each) => !each.has(character)),
    )
    expect(named(missed)).toEqual([])
  })

  it('is spelled out if it is a mark without a letter', () => {
    const missed = characters.filter(
      (character) => /\p{M}/u.test(character) && !byItself[strictness].has(character),
    )
    expect(named(missed)).toEqual([])
  })
})

it('every visible character of prose is shown as it is', () => {
  const found = byItself.prose
  const lost = characters.filter((character) => found.has(character) && canBeSeen(character, 'prose'))
  expect(named(lost.filter((character) => !/\p{M}/u.test(character)))).toEqual([])
})

it('every character that normalizes to ASCII is spelled out in code', () => {
  // Characters on ordinary keyboards that nobody mistakes for the ASCII characters they normalize to.
  const distinct = 'ª²³¹º…™'
  const found = byItself.code
  const standsForAscii = characters.filter(
    (character) => character > '\u007f' && /^[!-~]+$/.test(character.normalize('NFKC')),
  )
  expect(standsForAscii.length).toBeGreaterThan(1000)
  expect(named(standsForAscii.filter((each) => !found.has(each) && !distinct.includes(each)))).toEqual([])
})

it('printable ASCII is shown as it is', () => {
  const ascii = characters.slice(0x20, 0x7f).join('')
  expect(splitHiddenCharacters(`é${ascii}`, 'code')).toEqual([{ shown: `é${ascii}` }])
})
