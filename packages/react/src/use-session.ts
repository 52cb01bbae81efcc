import type {
  InboxStore,
  InboxView,
  SessionListStore,
  SessionListView,
  SessionStore,
  SessionView,
} from '@askback/client'
import { createContext, useContext, useMemo, useSyncExternalStore } from 'react'
import { useClient } from './askback-provider.js'

interface ViewAndStore<View, Store> {
  /** The current state; a new object after each change. */
  view: View
  /** The actions, such as `send` or `loadMore`. Its identity is stable. */
  store: Store
}

/**
 * Follows one session while the component is mounted. `view.state` is `null` until the first snapshot has arrived;
 * `view.error` says why a session can't be shown, for example because it does not exist.
 *
 * @example
 * const { view, store } = useSession(sessionId)
 * return <button onClick={() => void store.interrupt()}>Stop {view.state?.title}</button>
 */
export function useSession(sessionId: string): ViewAndStore<SessionView, SessionStore> {
  const client = useClient()
  const store = useMemo(() => client.session(sessionId), [client, sessionId])
  return { view: useStore(store), store }
}

/**
 * Follows everything that waits for a person in all sessions, oldest first. `view.items` is `null` until the first page
 * has arrived; `view.total` is the gateway's count, also of requests that are not loaded.
 *
 * @example
 * const { view } = useInbox()
 * return <span>{view.total} waiting</span>
 */
export function useInbox(): ViewAndStore<InboxView, InboxStore> {
  const store = useClient().inbox
  return { view: useStore(store), store }
}

/**
 * Follows the list of sessions, newest first. `view.items` is `null` until the first page has arrived.
 *
 * @example
 * const { view } = useSessions()
 * return view.items?.map(({ id, title }) => <li key={id}>{title}</li>)
 */
export function useSessions(): ViewAndStore<SessionListView, SessionListStore> {
  const store = useClient().sessions
  return { view: useStore(store), store }
}

/** Subscribes to a store with `subscribe` and `getSnapshot` while the component is mounted. */
export function useStore<View>({
  subscribe,
  getSnapshot,
}: {
  subscribe: (listener: () => void) => () => void
  getSnapshot: () => View
}): View {
  return useSyncExternalStore(subscribe, getSnapshot, getSnapshot)
}

/** What cards need to know about the session they belong to. */
export interface SessionFacts {
  agent: string | null
  cwd: string | null
  title: string | null
  /** The time by the gateway's clock, in milliseconds since 1970: deadlines are compared with it. */
  serverNow: () => number
}

/** Provided by `Conversation` and by each entry of `Inbox`. */
export const SessionFactsContext = createContext<SessionFacts>({
  agent: null,
  cwd: null,
  title: null,
  serverNow: () => Date.now(),
})

export function useSessionFacts(): SessionFacts {
  return useContext(SessionFactsContext)
}
