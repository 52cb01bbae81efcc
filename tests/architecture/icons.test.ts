import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { iconFiles } from '../../scripts/icons.mjs'
import { sourceTexts } from './workspace.js'
import { root } from '../../scripts/workspace.mjs'

it.each(await iconFiles())('$path is what `npm run icons` writes', ({ path, text }) => {
  expect(readFileSync(join(root, path), 'utf8')).toBe(text)
})

it('draws no icon that nothing uses', () => {
  const [icons] = sourceTexts().filter(({ path }) => path.endsWith('icons.ts'))
  const names = [...(icons?.text ?? '').matchAll(/export const (\w+)/gu)].map(([, name = '']) => name)
  const users = sourceTexts().filter(({ path, isTest }) => !isTest && path !== icons?.path)
  expect(names.length).toBeGreaterThan(0)
  expect(
    names.filter(
      (name) => !users.some(({ text }) => text.includes(`<${name}`) || text.includes(`: ${name}`)),
    ),
  ).toEqual([])
})
