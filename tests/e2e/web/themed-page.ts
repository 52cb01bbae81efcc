import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/*
 * Which theme applies in a page that has the styles of the components: in the card `#system` that of the system, and in `#light` and
 * `#dark` those of a `data-theme` around them.
 */

export const LIGHT = { text: 'rgb(28, 28, 33)', line: '#e6e6ea', scheme: 'light', code: 'light' }
export const DARK = { text: 'rgb(236, 236, 240)', line: '#2c2c33', scheme: 'dark', code: 'dark' }

export async function expectThemes(page: Page, system: 'light' | 'dark'): Promise<void> {
  await expect.poll(() => colorsOf(page, 'system')).toEqual(system === 'light' ? LIGHT : DARK)
  await expect.poll(() => colorsOf(page, 'light')).toEqual(LIGHT)
  await expect.poll(() => colorsOf(page, 'dark')).toEqual(DARK)
}

/** Computed colours of a card. `code` is the theme whose colour a highlighted word in it has. */
export function colorsOf(page: Page, id: string): Promise<typeof LIGHT> {
  return page.locator(`#${id}`).evaluate((card) => {
    const colorOf = (className: string, style: string) => {
      const word = card.appendChild(document.createElement('span'))
      word.className = className
      word.style.cssText = style
      const { color } = getComputedStyle(word)
      word.remove()
      return color
    }
    const mixedWith = (color: string) =>
      colorOf('', `color: color-mix(in oklab, ${color} 85%, var(--ab-text))`)
    const word = colorOf('ab-token', '--shiki-light: red; --shiki-dark: blue')
    const code = word === mixedWith('red') ? 'light' : word === mixedWith('blue') ? 'dark' : word
    const style = getComputedStyle(card)
    return {
      text: style.color,
      line: style.getPropertyValue('--ab-line'),
      scheme: style.colorScheme,
      code,
    }
  })
}
