// @vitest-environment happy-dom
import { asked } from '@askback/client/testing'
import { fireEvent, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { InteractionCard, MustSee, useCardGuard, useInteraction, type InteractionProps } from '../index.js'
import { advanceTime, renderSession, setUpComponentTests } from '../render-session.test.helper.js'
import { viewport } from '../viewport.js'

setUpComponentTests()

const approval = asked('i1', { toolName: 'Bash', request: { input: { command: 'ls' } } })

function approve(): HTMLButtonElement {
  return screen.getByRole('button', { name: 'Approve once' })
}

it('prevents approving content below the window, also by key', async () => {
  vi.mocked(viewport.rectOf).mockReturnValue(new DOMRect(100, 5000, 100, 20))
  const { answers } = await renderSession({ events: approval })
  screen.getByText('Show everything to enable Approve.')
  expect(approve().disabled).toBe(true)
  fireEvent.keyDown(document.querySelector('.ab-card')!, { key: 'a' })
  await advanceTime(100)
  expect(answers()).toEqual([])
  vi.mocked(viewport.rectOf).mockReturnValue(new DOMRect(100, 100, 100, 20))
  await advanceTime(500)
  expect(approve().disabled).toBe(false)
})

it('“Show the next part” opens a fold, and keeps the focus', async () => {
  const command = Array.from({ length: 61 }, (_, line) => `echo ${line}`).join('\n')
  const { user } = await renderSession({ events: asked('i1', { request: { input: { command } } }) })
  screen.getByRole('button', { name: 'Show all 61 lines' })
  const next = screen.getByRole('button', { name: 'Show the next part' })
  next.focus()
  await user.keyboard('{Enter}')
  screen.getByText(/echo 60/)
  expect(screen.queryByRole('button', { name: 'Show all 61 lines' })).toBeNull()
  await advanceTime(500)
  expect(approve().disabled).toBe(false)
  // The button disappears when everything has been seen, and the card takes over the focus.
  expect(document.activeElement).toBe(document.querySelector('.ab-card'))
})

it('`A` shows the next unseen part, announces it each time, and approves nothing', async () => {
  const command = Array.from({ length: 61 }, (_, line) => `echo ${line}`).join('\n')
  const { answers } = await renderSession({ events: asked('i1', { request: { input: { command } } }) })
  vi.mocked(viewport.isPaintedAt).mockReturnValue(false)
  const card = document.querySelector('.ab-card')!
  fireEvent.keyDown(card, { key: 'a' })
  screen.getByText(/echo 60/)
  const status = screen.getByText(/^Here is the next part/)
  expect(status.closest('[role=status]')?.textContent).toMatch(/Show everything to enable Approve/)
  fireEvent.keyDown(card, { key: 'a' })
  expect(screen.getByText(/^Here is the next part/)).not.toBe(status)
  await advanceTime(0)
  expect(answers()).toEqual([])
})

it('names the buttons that seeing the whole plan enables', async () => {
  const plan = `\`\`\`\n${'x\n'.repeat(100)}\`\`\``
  await renderSession({ events: asked('i1', { kind: 'plan_review', request: { plan } }) })
  expect(screen.queryByText('Show everything to enable Proceed and Approve.')).not.toBeNull()
})

it('does not count content as seen that is covered, or in a hidden page', async () => {
  vi.mocked(viewport.isPaintedAt).mockReturnValue(false)
  await renderSession({ events: approval })
  expect(approve().disabled).toBe(true)
  const state = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden')
  vi.mocked(viewport.isPaintedAt).mockReturnValue(true)
  await advanceTime(1000)
  expect(approve().disabled).toBe(true)
  state.mockReturnValue('visible')
  await advanceTime(200)
  expect(approve().disabled).toBe(false)
})

it.each([
  ['left', -50],
  ['right', window.innerWidth - 50],
])('does not count content as seen that extends beyond the window to the %s', async (_side, left) => {
  vi.mocked(viewport.rectOf).mockReturnValue(new DOMRect(left, 100, 100, 20))
  await renderSession({ events: approval })
  expect(approve().disabled).toBe(true)
  vi.mocked(viewport.rectOf).mockReturnValue(new DOMRect(100, 100, 100, 20))
  await advanceTime(500)
  expect(approve().disabled).toBe(false)
})

it('refuses a press right after the card moved, before the next regular check', async () => {
  const { answers } = await renderSession({ events: approval })
  expect(approve().disabled).toBe(false)
  vi.mocked(viewport.rectOf).mockReturnValue(new DOMRect(100, 160, 100, 20))
  fireEvent.click(approve(), { detail: 1 })
  screen.getByText(/moved just now/)
  await advanceTime(299)
  expect(approve().getAttribute('aria-disabled')).toBe('true')
  expect(answers()).toEqual([])
  await advanceTime(1)
  fireEvent.click(approve(), { detail: 1 })
  await advanceTime(0)
  expect(answers()).toHaveLength(1)
})

it('refuses continuous presses after the card moved', async () => {
  const { answers } = await renderSession({ events: approval })
  vi.mocked(viewport.rectOf).mockReturnValue(new DOMRect(100, 160, 100, 20))
  for (let count = 1; count <= 8; count++) {
    fireEvent.click(approve(), { detail: count })
    screen.getByText(/moved just now/)
    await advanceTime(150)
  }
  expect(answers()).toEqual([])
  await advanceTime(150)
  fireEvent.click(approve(), { detail: 1 })
  await advanceTime(0)
  expect(answers()).toHaveLength(1)
})

it('accepts a press right after scrolling, which is not a layout change', async () => {
  const { answers, container } = await renderSession({ events: approval })
  container.scrollTop = 60
  vi.mocked(viewport.rectOf).mockReturnValue(new DOMRect(100, 40, 100, 20))
  fireEvent.click(approve(), { detail: 1 })
  await advanceTime(0)
  expect(answers()).toHaveLength(1)
})

it('accepts a key while the card moves, as keys act on the focused element', async () => {
  const { answers } = await renderSession({ events: approval })
  vi.mocked(viewport.rectOf).mockReturnValue(new DOMRect(100, 160, 100, 20))
  await advanceTime(100)
  expect(approve().getAttribute('aria-disabled')).toBe('true')
  fireEvent.keyDown(document.querySelector('.ab-card')!, { key: 'a' })
  await advanceTime(0)
  expect(answers()).toHaveLength(1)
})

it('refuses the first press of a pointer that rested where the controls appeared', async () => {
  const { answers, play } = await renderSession()
  fireEvent.pointerMove(window, { clientX: 150, clientY: 110, pointerType: 'mouse' })
  await play(...approval)
  await advanceTime(400)
  fireEvent.click(approve(), { detail: 1 })
  screen.getByText(/came under your pointer/)
  expect(answers()).toEqual([])
  await advanceTime(300)
  fireEvent.click(approve(), { detail: 1 })
  await advanceTime(0)
  expect(answers()).toHaveLength(1)
})

it('refuses further presses of a refused series of clicks', async () => {
  const { answers, play } = await renderSession()
  fireEvent.pointerMove(window, { clientX: 150, clientY: 110, pointerType: 'mouse' })
  await play(...approval)
  await advanceTime(400)
  for (let count = 1; count <= 8; count++) {
    fireEvent.click(approve(), { detail: count })
    screen.getByText(/came under your pointer/)
    await advanceTime(299)
  }
  expect(answers()).toEqual([])
  await advanceTime(1)
  fireEvent.click(approve(), { detail: 1 })
  await advanceTime(0)
  expect(answers()).toHaveLength(1)
})

it('accepts a press of a pointer that moved on the controls', async () => {
  const { answers, play } = await renderSession()
  fireEvent.pointerMove(window, { clientX: 150, clientY: 110, pointerType: 'mouse' })
  await play(...approval)
  await advanceTime(400)
  fireEvent.pointerMove(window, { clientX: 154, clientY: 110, pointerType: 'mouse' })
  fireEvent.click(approve(), { detail: 1 })
  await advanceTime(0)
  expect(answers()).toHaveLength(1)
})

it('guards a custom card', async () => {
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
  vi.mocked(viewport.isPaintedAt).mockReturnValue(false)
  const { answers } = await renderSession({
    renderers: { deploy: Deploy },
    events: asked('i1', { kind: 'deploy', request: {} }),
  })
  const go = screen.getByRole<HTMLButtonElement>('button', { name: 'Go' })
  expect(go.disabled).toBe(true)
  vi.mocked(viewport.isPaintedAt).mockReturnValue(true)
  await advanceTime(100)
  fireEvent.click(go)
  await advanceTime(0)
  expect(answers()).toEqual(['go'])
})
