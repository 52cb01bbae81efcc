import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { serve } from '../http/gateways.js'
import { ask, command, database, edit, plan, release } from './asking.js'
import { goTo, settle } from './browser.js'
import { openWindow } from './window.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  id: string
  impact: string
  nodes: { html: string }[]
}

async function seriousFindings(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const { axe: checker } = window as unknown as { axe: { run: () => Promise<{ violations: Finding[] }> } }
    const { violations } = await checker.run()
    return (
      violations
        // People who use a screen reader navigate by headings.
        .filter(({ id, impact }) => impact === 'serious' || impact === 'critical' || id === 'heading-order')
        .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
    )
  })
}

it.each(['light', 'dark'] as const)(
  'axe finds nothing serious in any of the main states, %s',
  async (colorScheme) => {
    const gateway = await serve()
    const page = await openWindow(gateway, { colorScheme, bypassCSP: true, reducedMotion: 'reduce' })
    await page.addScriptTag({ content: axe })
    const found: Record<string, string[]> = {}
    const look = async (state: string) => {
      const findings = await seriousFindings(page)
      if (findings.length > 0) found[state] = findings
    }

    await page.getByRole('button', { name: 'Take the tour' }).waitFor()
    await look('welcome')
    for (const [state, body] of Object.entries({ database, release, command, edit, plan })) {
      const { sessionId, interactionId } = await ask(gateway, body)
      await goTo(page, `#/s/${sessionId}`)
      await page.locator(`.ab-card[data-interaction="${interactionId}"]`).waitFor()
      await page.getByRole('button', { name: /^(Submit|Approve once|Proceed)$/ }).waitFor()
      await look(state)
    }
    await settle(page.locator('.ab-card'), 'Proceed')
    await look('settled')
    await goTo(page, '#/inbox')
    await expect.poll(() => page.locator('.ab-inbox-item').count()).toBeGreaterThanOrEqual(4)
    await look('inbox')
    await goTo(page, '#/new')
    await page.getByRole('radio', { name: /Demo/ }).waitFor()
    await look('new session')
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByRole('dialog').waitFor()
    await look('settings')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
    await page.getByRole('dialog').waitFor()
    await look('keyboard help')
    await page.keyboard.press('Escape')
    await goTo(page, '#/s/nothing-there')
    await page.getByText('This session can’t be shown').waitFor()
    await look('not found')
    expect(found).toEqual({})
  },
)
