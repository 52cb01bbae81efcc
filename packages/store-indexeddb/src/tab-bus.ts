import type { Bus, BusMessage } from '@askback/core'
import { isBusMessage } from '@askback/core/internal'
import { createDoorbell } from '@askback/core/store'

/** The options of `tabBus`. */
export interface TabBusOptions {
  /**
   * The database that the tabs share.
   *
   * @default 'askback'
   */
  name?: string
}

/**
 * A bus between the tabs of one site, for hosts with agents in several tabs: it carries the text that an agent in another tab is
 * writing, and commands for that agent. The store itself needs none.
 *
 * @example
 * const bus = tabBus()
 * const leases = new Leases({ store, bus, onError: console.error })
 * const host = createHost({ desk, agents, bus, leases, onError: console.error })
 */
export function tabBus({ name = 'askback' }: TabBusOptions = {}): Bus {
  return channelBus(`askback/${name}/bus`)
}

/** Other tabs may run another version, so a message that this one does not know is ignored. */
export function channelBus(channelName: string): Bus {
  const channel = new BroadcastChannel(channelName)
  const bell = createDoorbell<BusMessage>()
  let closed = false
  channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (isBusMessage(data)) bell.ring(data)
  })
  return {
    publish(message) {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches its own origin only
      if (!closed) channel.postMessage(message)
    },
    on: (listener) => bell.on(listener),
    close() {
      closed = true
      channel.close()
      return Promise.resolve()
    },
  }
}
