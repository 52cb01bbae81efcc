// @vitest-environment happy-dom
import { expect, it } from 'vitest'
import { runSample } from './run-sample.js'

it('the page in the README of react shows the request, and a person answers it there', async () => {
  document.body.innerHTML = '<div id="root"></div>'
  const running = runSample('packages/react/README.md')
  await expect.poll(() => find('label', 'SQLite')).toBeDefined()
  find('label', 'SQLite')?.click()
  await expect.poll(() => find('button', 'Submit')?.hasAttribute('disabled')).toBe(false)
  find('button', 'Submit')?.click()
  const { printed, expected } = await running
  expect(expected).not.toEqual([])
  expect(printed).toEqual(expected)
})

function find(selector: string, text: string): HTMLElement | undefined {
  return [...document.querySelectorAll<HTMLElement>(selector)].find(({ textContent }) =>
    textContent.includes(text),
  )
}
