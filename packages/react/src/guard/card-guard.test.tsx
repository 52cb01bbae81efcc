// @vitest-environment happy-dom
import { asked } from '@askback/client/testing'
import { act, fireEvent, screen as page } from '@testing-library/react'
import { expect, it, onTestFinished, vi } from 'vitest'
import {
  InteractionCard,
  MustSee,
  registerRenderer,
  useCardGuard,
  useInteraction,
  type InteractionProps,
} from '../index.js'
import { pass, show, stillTime } from '../show.test.helper.js'
import { screen } from './screen.js'

stillTime()

const approval = asked('i1', { toolName: 'Bash', request: { input: { command: 'ls' } } })

function approve(): HTMLButtonElement {
  return page.getByRole('button', { name: 'Approve once' })
}

it('keeps what is below the window from being approved, by key as well', async () => {
  vi.mocked(screen.rectOf).mockReturnValue(new DOMRect(100, 5000, 100, 20))
  const { answers } = await show({ events: approval })
  page.getByText('Show everything to enable Approve.')
  expect(approve().disabled).toBe(true)
  fireEvent.keyDown(document.querySelector('.ab-card')!, { key: 'a' })
  await pass(100)
  expect(answers()).toEqual([])
  vi.mocked(screen.rectOf).mockReturnValue(new DOMRect(100, 100, 100, 20))
  await pass(500)
  expect(approve().disabled).toBe(false)
})

it('“Show the next part” opens a fold, and keeps the focus where it was', async () => {
  const command = Array.from({ length: 61 }, (_, line) => `echo ${line}`).join('\n')
  const { user } = await show({ events: asked('i1', { request: { input: { command } } }) })
  page.getByRole('button', { name: 'Show all 61 lines' })
  const next = page.getByRole('button', { name: 'Show the next part' })
  next.focus()
  await user.keyboard('{Enter}')
  page.getByText(/echo 60/)
  expect(page.queryByRole('button', { name: 'Show all 61 lines' })).toBeNull()
  await pass(500)
  expect(approve().disabled).toBe(false)
  // The button has gone with its purpose.
  expect(document.activeElement).toBe(document.querySelector('.ab-card'))
})

it('`A` leads on to what has not been on screen, says so each time, and approves nothing', async () => {
  const command = Array.from({ length: 61 }, (_, line) => `echo ${line}`).join('\n')
  const { answers } = await show({ events: asked('i1', { request: { input: { command } } }) })
  vi.mocked(screen.isPaintedAt).mockReturnValue(false)
  const card = document.querySelector('.ab-card')!
  fireEvent.keyDown(card, { key: 'a' })
  page.getByText(/echo 60/)
  const status = page.getByText(/^Here is the next part/)
  expect(status.closest('[role=status]')?.textContent).toMatch(/Show everything to enable Approve/)
  fireEvent.keyDown(card, { key: 'a' })
  expect(page.getByText(/^Here is the next part/)).not.toBe(status)
  await pass(0)
  expect(answers()).toEqual([])
})

it('names what seeing all of a plan enables', async () => {
  const plan = `\`\`\`\n${'x\n'.repeat(100)}\`\`\``
  await show({ events: asked('i1', { kind: 'plan_review', request: { plan } }) })
  expect(page.queryByText('Show everything to enable Proceed and Approve.')).not.toBeNull()
})

it('counts nothing that something else covers, or that is in a hidden page', async () => {
  vi.mocked(screen.isPaintedAt).mockReturnValue(false)
  await show({ events: approval })
  expect(approve().disabled).toBe(true)
  const state = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden')
  vi.mocked(screen.isPaintedAt).mockReturnValue(true)
  await pass(1000)
  expect(approve().disabled).toBe(true)
  state.mockReturnValue('visible')
  await pass(200)
  expect(approve().disabled).toBe(false)
})

it.each([
  ['left', -50],
  ['right', window.innerWidth - 50],
])('counts nothing that reaches out of the window to the %s', async (_side, left) => {
  vi.mocked(screen.rectOf).mockReturnValue(new DOMRect(left, 100, 100, 20))
  await show({ events: approval })
  expect(approve().disabled).toBe(true)
  vi.mocked(screen.rectOf).mockReturnValue(new DOMRect(100, 100, 100, 20))
  await pass(500)
  expect(approve().disabled).toBe(false)
})

it('refuses a press in the moment in which the card has moved, before any check has seen it', async () => {
  const { answers } = await show({ events: approval })
  expect(approve().disabled).toBe(false)
  vi.mocked(screen.rectOf).mockReturnValue(new DOMRect(100, 160, 100, 20))
  fireEvent.click(approve(), { detail: 1 })
  page.getByText(/moved just now/)
  await pass(299)
  expect(approve().getAttribute('aria-disabled')).toBe('true')
  expect(answers()).toEqual([])
  await pass(1)
  fireEvent.click(approve(), { detail: 1 })
  await pass(0)
  expect(answers()).toHaveLength(1)
})

it('refuses presses without a pause after the card has moved, however long they go on', async () => {
  const { answers } = await show({ events: approval })
  vi.mocked(screen.rectOf).mockReturnValue(new DOMRect(100, 160, 100, 20))
  for (let count = 1; count <= 8; count++) {
    fireEvent.click(approve(), { detail: count })
    page.getByText(/moved just now/)
    await pass(150)
  }
  expect(answers()).toEqual([])
  await pass(150)
  fireEvent.click(approve(), { detail: 1 })
  await pass(0)
  expect(answers()).toHaveLength(1)
})

it('takes a press at once after the person has scrolled, as that is no change of the layout', async () => {
  const { answers, container } = await show({ events: approval })
  container.scrollTop = 60
  vi.mocked(screen.rectOf).mockReturnValue(new DOMRect(100, 40, 100, 20))
  fireEvent.click(approve(), { detail: 1 })
  await pass(0)
  expect(answers()).toHaveLength(1)
})

it('takes a key also while the card moves, as that is aimed at what has the focus', async () => {
  const { answers } = await show({ events: approval })
  vi.mocked(screen.rectOf).mockReturnValue(new DOMRect(100, 160, 100, 20))
  await pass(100)
  expect(approve().getAttribute('aria-disabled')).toBe('true')
  fireEvent.keyDown(document.querySelector('.ab-card')!, { key: 'a' })
  await pass(0)
  expect(answers()).toHaveLength(1)
})

it('ignores one press of a pointer that rested where the controls came, and none after it moved', async () => {
  const { answers, play } = await show()
  fireEvent.pointerMove(window, { clientX: 150, clientY: 110, pointerType: 'mouse' })
  await play(...approval)
  await pass(400)
  fireEvent.click(approve(), { detail: 1 })
  page.getByText(/came under your pointer/)
  expect(answers()).toEqual([])
  await pass(300)
  fireEvent.click(approve(), { detail: 1 })
  await pass(0)
  expect(answers()).toHaveLength(1)
})

it('ignores the second press of a double click that it ignored, and every further one without a pause', async () => {
  const { answers, play } = await show()
  fireEvent.pointerMove(window, { clientX: 150, clientY: 110, pointerType: 'mouse' })
  await play(...approval)
  await pass(400)
  for (let count = 1; count <= 8; count++) {
    fireEvent.click(approve(), { detail: count })
    page.getByText(/came under your pointer/)
    await pass(299)
  }
  expect(answers()).toEqual([])
  await pass(1)
  fireEvent.click(approve(), { detail: 1 })
  await pass(0)
  expect(answers()).toHaveLength(1)
})

it('takes the press of a pointer that came to the controls', async () => {
  const { answers, play } = await show()
  fireEvent.pointerMove(window, { clientX: 150, clientY: 110, pointerType: 'mouse' })
  await play(...approval)
  await pass(400)
  fireEvent.pointerMove(window, { clientX: 154, clientY: 110, pointerType: 'mouse' })
  fireEvent.click(approve(), { detail: 1 })
  await pass(0)
  expect(answers()).toHaveLength(1)
})

it('guards a card of one’s own', async () => {
  function Deploy({ interaction, open = true }: InteractionProps) {
    const control = useInteraction(interaction, open)
    const guard = useCardGuard()
    return (
      <InteractionCard control={control} open={open} guard={guard} icon={null} title="Deploy">
        <MustSee>What is deployed</MustSee>
        <button
          disabled={!guard.isArmed || !guard.isSeen}
          onClick={(event) => guard.acceptsPress(event) && void control.respond('go')}
        >
          Go
        </button>
      </InteractionCard>
    )
  }
  const takeBack = registerRenderer('deploy', Deploy)
  onTestFinished(() => act(takeBack))
  vi.mocked(screen.isPaintedAt).mockReturnValue(false)
  const { answers } = await show({ events: asked('i1', { kind: 'deploy', request: {} }) })
  const go = page.getByRole<HTMLButtonElement>('button', { name: 'Go' })
  expect(go.disabled).toBe(true)
  vi.mocked(screen.isPaintedAt).mockReturnValue(true)
  await pass(100)
  fireEvent.click(go)
  await pass(0)
  expect(answers()).toEqual(['go'])
})
