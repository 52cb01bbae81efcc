import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newFolder } from '../http/command.js'
import { serve, type RunningGateway } from '../http/gateways.js'
import { ask, readInteraction } from './asking.js'
import { goTo, pressUntil, settle } from './browser.js'
import { openWindow } from './window.js'

const guide = readFileSync(new URL('../../../docs/guides/interactive-tools.md', import.meta.url), 'utf8')

/** A file as the guide prints it, so that what readers copy is what is tested. */
function fileInGuide(name: string): string {
  const sample = [...guide.matchAll(/```\w+\n([\s\S]*?)```/g)].find(([, text]) =>
    text?.startsWith(`// ${name}\n`),
  )
  if (sample?.[1] === undefined) throw new Error(`The guide has no sample that begins with // ${name}.`)
  return sample[1]
}

const CONFIG = fileInGuide('askback.config.ts')
const MODULE = fileInGuide('time-slot.js')

/** A gateway whose settings name a renderer with this source. */
function serveModule(source: string): Promise<RunningGateway> {
  const folder = newFolder()
  writeFileSync(join(folder, 'askback.config.ts'), CONFIG)
  writeFileSync(join(folder, 'time-slot.js'), source)
  return serve({ args: ['--config', join(folder, 'askback.config.ts')] })
}

const slots = (count: number) => Array.from({ length: count }, (_, index) => `${index + 1} o’clock`)
const timeSlot = (count = 3) => ({
  kind: 'time_slot',
  toolCallId: 'slot',
  request: { purpose: 'Release 1.2', slots: slots(count) },
})

describe('a kind that a module of the operator draws', () => {
  it('is answered by keyboard, in the page’s own card, and the choice survives a reload', async () => {
    const gateway = await serveModule(MODULE)
    const item = await ask(gateway, timeSlot())
    const page = await openWindow(gateway)
    const blocked: string[] = []
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) blocked.push(message.text())
    })
    await goTo(page, `#/s/${item.sessionId}`)
    const card = page.getByRole('group', { name: 'Time slot' })
    await card.getByText('Release 1.2').waitFor()
    await card.getByRole('radio', { name: '2 o’clock' }).focus()
    await page.keyboard.press('Space')
    await expect.poll(() => page.evaluate(() => JSON.stringify(localStorage))).toContain('2 o’clock')
    await page.reload()
    await expect.poll(() => card.getByRole('radio', { name: '2 o’clock' }).isChecked()).toBe(true)
    const submit = card.getByRole('button', { name: 'Submit' })
    await expect.poll(() => submit.isEnabled()).toBe(true)
    await submit.focus()
    await page.keyboard.press('Enter')
    await card.getByText(/Answered/).waitFor()
    await expect
      .poll(() => readInteraction(gateway, item))
      .toMatchObject({
        settlement: 'answered',
        answer: { slot: '2 o’clock' },
        via: 'web',
      })
    expect(blocked).toEqual([])
  })

  it('cannot be submitted before all of it has been on screen', async () => {
    const gateway = await serveModule(MODULE)
    const item = await ask(gateway, timeSlot(120))
    const page = await openWindow(gateway, { viewport: { width: 390, height: 844 } })
    await goTo(page, `#/s/${item.sessionId}`)
    const card = page.getByRole('group', { name: 'Time slot' })
    await card.getByRole('radio', { name: '120 o’clock' }).check()
    await card.getByText('Show everything to enable Submit.').waitFor()
    await expect.poll(() => card.getByRole('button', { name: 'Submit' }).isEnabled()).toBe(false)
    const next = card.getByRole('button', { name: 'Show the next part' })
    await pressUntil(next, async () => (await next.count()) === 0)
    await settle(card, 'Submit')
    await expect.poll(() => readInteraction(gateway, item)).toMatchObject({ answer: { slot: '120 o’clock' } })
  })

  it.each([
    ['is not JavaScript', 'export default (', 'could not be loaded'],
    [
      'is stopped by the policy of the page',
      'export default eval("() => () => null")',
      'could not be loaded',
    ],
    ['throws while it draws', 'export default () => () => { throw new Error("broken") }', 'failed'],
  ])('is asked with the general form if the module %s', async (_, source, what) => {
    const gateway = await serveModule(source)
    const item = await ask(gateway, timeSlot())
    const page = await openWindow(gateway)
    await goTo(page, `#/s/${item.sessionId}`)
    await page.getByText(`The drawing of this kind ${what}, so this is its general form.`).waitFor()
    await page.getByRole('button', { name: 'Submit' }).waitFor()
    await expect.poll(() => readInteraction(gateway, item)).toMatchObject({ status: 'pending' })
  })
})
