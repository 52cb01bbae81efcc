import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const folder = new URL('../styles/', import.meta.url)
const files = readdirSync(folder).filter((name) => name !== 'index.css')

/** The selectors of a style sheet, and whether their rules set anything but variables. */
function rulesOf(css: string): { selector: string; setsMore: boolean }[] {
  const plain = css
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/@keyframes[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g, '')
  return [...plain.matchAll(/([^{}@;]+)\{([^{}]*)\}/g)].map(([, selector = '', body = '']) => ({
    selector: selector.trim(),
    setsMore: body.split(';').some((line) => line.trim() !== '' && !line.trim().startsWith('--ab-')),
  }))
}

it.each(files)('%s styles nothing of the page around the components', (name) => {
  const rules = rulesOf(readFileSync(new URL(name, folder), 'utf8'))
  expect(rules.length).toBeGreaterThan(0)
  for (const { selector, setsMore } of rules) {
    if (!setsMore) continue
    // Every part of every selector needs a class with our prefix.
    for (const one of selector.split(/,(?![^(]*\))/)) expect(one).toMatch(/\.ab-|\[class[\^*]=/)
  }
})

it('every animation name has our prefix', () => {
  const names = files.flatMap((name) =>
    [...readFileSync(new URL(name, folder), 'utf8').matchAll(/@keyframes (\S+)/g)].map(([, found]) => found),
  )
  expect(names.length).toBeGreaterThan(0)
  for (const name of names) expect(name).toMatch(/^ab-/)
})
