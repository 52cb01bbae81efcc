import { scriptedTransport, type ScriptedTransport } from '@askback/client/testing'
import type { NewEvent } from '@askback/protocol'
import { act, cleanup, render } from '@testing-library/react'
import { userEvent } from '@testing-library/user-event'
import type { ReactNode } from 'react'
import { afterEach, beforeEach, vi } from 'vitest'
import { screen } from './guard/screen.js'
import { Conversation, TransportProvider } from './index.js'

export const NOW = 1_800_000_000_000

/** Everything that a test of components needs around it: time that stands still, and nothing kept from the last. */
export function stillTime(): void {
  beforeEach(() => {
    vi.useFakeTimers()
    // By this name Testing Library knows that it has to move the time itself.
    vi.stubGlobal('jest', { advanceTimersByTime: (ms: number) => vi.advanceTimersByTime(ms) })
    vi.setSystemTime(NOW)
    localStorage.clear()
    everythingOnScreen()
  })
  afterEach(() => {
    cleanup()
    vi.restoreAllMocks()
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })
}

/** There is no layout here: what is drawn counts as being in view, away from the pointer, unless a test says otherwise. */
function everythingOnScreen(): void {
  vi.spyOn(screen, 'rectOf').mockReturnValue(new DOMRect(100, 100, 100, 20))
  vi.spyOn(screen, 'isPaintedAt').mockReturnValue(true)
}

export interface Shown {
  transport: ScriptedTransport
  user: ReturnType<typeof userEvent.setup>
  container: HTMLElement
  /** Goes on with the log, and waits until it is drawn. */
  play: (...events: NewEvent[]) => Promise<void>
  answers: () => unknown[]
  reload: () => Promise<void>
}

interface ShowOptions {
  /** What comes before somebody looks. */
  events?: NewEvent[]
  ui?: ReactNode
  /** A change to the transport before it is used. */
  change?: (transport: ScriptedTransport) => void
  /** For how long the page has been there: controls arm after a moment. */
  after?: number
}

/** A session on a scripted transport; the conversation, unless another part of the page is given. */
export async function show(options: ShowOptions = {}): Promise<Shown> {
  const { events = [], ui = <Conversation sessionId="s1" />, change, after = 400 } = options
  const transport = scriptedTransport({ by: { id: 'ada', name: 'Ada' }, now: () => Date.now() })
  transport.play('s1', ...events)
  change?.(transport)
  const draw = () => render(<TransportProvider transport={transport}>{ui}</TransportProvider>)
  let page = draw()
  await pass(after)
  return {
    transport,
    user: userEvent.setup({ delay: null }),
    get container() {
      return page.container
    },
    async play(...more) {
      transport.play('s1', ...more)
      await pass(0)
    },
    answers: () =>
      transport.calls.flatMap(({ method, args }) =>
        method === 'respond' ? [(args[0] as { answer: unknown }).answer] : [],
      ),
    async reload() {
      page.unmount()
      page = draw()
      await pass(after)
    },
  }
}

export async function pass(ms: number): Promise<void> {
  await act(() => vi.advanceTimersByTimeAsync(ms))
}
