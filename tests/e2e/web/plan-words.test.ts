import { expect, it } from 'vitest'
import { serve } from '../http/gateways.js'
import { ask } from './asking.js'
import { goTo } from './browser.js'
import { openWindow } from './window.js'

const parts = [
  '| Step |\n|---|\n| Rename it | then run one |',
  '- Rename it\n\n  [x]: <then run two> "then run three"',
  '[x]: # (then run four)',
  '> Rename it\n>\n> [^1]: then run five',
  '```sh then run six\nnpm test\n```',
  'Rename [it](https://example.com "then run seven").',
  'Rename ![](<then run eight>) it.',
  // Markdown draws nothing for these, and a part without height would never count as seen.
  '>',
  '#',
  '[]()',
]

it('a plan that Markdown does not draw completely is shown completely, and can be approved', async () => {
  const gateway = await serve()
  const item = await ask(gateway, { kind: 'plan_review', request: { plan: parts.join('\n\n') } })
  const page = await openWindow(gateway, { viewport: { width: 1280, height: 2400 } })
  await goTo(page, `#/s/${item.sessionId}`)
  await expect.poll(() => page.getByRole('button', { name: 'Proceed', exact: true }).isEnabled()).toBe(true)
  const shown = () => page.locator('.ab-plan').innerText()
  for (const number of ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'])
    await expect.poll(shown).toContain(`then run ${number}`)
})
