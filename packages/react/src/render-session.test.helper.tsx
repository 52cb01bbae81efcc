import { scriptedTransport, type ScriptedTransport } from '@askback/client/testing'
import type { KindPrompt, NewEvent } from '@askback/protocol'
import { act, cleanup, render } from '@testing-library/react'
import { userEvent } from '@testing-library/user-event'
import type { ReactNode } from 'react'
import { afterEach, beforeEach, vi } from 'vitest'
import { AskbackProvider, Conversation, type Labels, type Renderers } from './index.js'
import { viewport } from './viewport.js'

export const NOW = 1_800_000_000_000

/** What each test of components needs: fake timers, empty storage, and a layout in which everything is on screen. */
export function setUpComponentTests(): void {
  beforeEach(() => {
    vi.useFakeTimers()
    // Testing Library advances fake timers itself if it finds this global.
    vi.stubGlobal('jest', { advanceTimersByTime: (ms: number) => vi.advanceTimersByTime(ms) })
    vi.setSystemTime(NOW)
    localStorage.clear()
    putEverythingOnScreen()
  })
  afterEach(() => {
    cleanup()
    vi.restoreAllMocks()
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })
}

/**
 * happy-dom has no layout engine. Everything counts as in view and away from the pointer, unless a test says
 * otherwise.
 */
function putEverythingOnScreen(): void {
  vi.spyOn(viewport, 'rectOf').mockReturnValue(new DOMRect(100, 100, 100, 20))
  vi.spyOn(viewport, 'isPaintedAt').mockReturnValue(true)
}

export interface RenderedSession {
  transport: ScriptedTransport
  user: ReturnType<typeof userEvent.setup>
  container: HTMLElement
  /** Appends events to the log, and waits until they are drawn. */
  play: (...events: NewEvent[]) => Promise<void>
  /** The answers that were sent, in their order. */
  answers: () => unknown[]
  /** Unmounts the page and renders it again on the same transport and storage. */
  reload: () => Promise<void>
}

interface RenderOptions {
  /** The events in the log before the page is rendered. */
  events?: NewEvent[]
  ui?: ReactNode
  renderers?: Renderers
  labels?: Labels
  /** How custom kinds are asked for. */
  prompts?: Record<string, KindPrompt>
  /** Changes the transport before it is used. */
  prepareTransport?: (transport: ScriptedTransport) => void
  /** How long to wait after rendering, so that controls are armed. */
  waitMs?: number
}

/** Renders a session on a scripted transport: the conversation, or `ui`. */
export async function renderSession(options: RenderOptions = {}): Promise<RenderedSession> {
  const {
    events = [],
    ui = <Conversation sessionId="s1" />,
    renderers = {},
    labels = {},
    prompts,
    prepareTransport,
    waitMs = 400,
  } = options
  const transport = scriptedTransport({
    by: { id: 'ada', name: 'Ada' },
    now: () => Date.now(),
    ...(prompts && { prompts }),
  })
  transport.play('s1', ...events)
  prepareTransport?.(transport)
  const draw = () =>
    render(
      <AskbackProvider transport={transport} renderers={renderers} labels={labels}>
        {ui}
      </AskbackProvider>,
    )
  let page = draw()
  await advanceTime(waitMs)
  return {
    transport,
    user: userEvent.setup({ delay: null }),
    get container() {
      return page.container
    },
    async play(...more) {
      transport.play('s1', ...more)
      await advanceTime(0)
    },
    answers: () =>
      transport.calls.flatMap(({ method, args }) =>
        method === 'respond' ? [(args[0] as { answer: unknown }).answer] : [],
      ),
    async reload() {
      page.unmount()
      page = draw()
      await advanceTime(waitMs)
    },
  }
}

/** Advances the fake time and lets React render. */
export async function advanceTime(ms: number): Promise<void> {
  await act(() => vi.advanceTimersByTimeAsync(ms))
}
