import type { InboxStore, InboxView, SessionListStore, SessionListView } from '@askback/client'
import type { SessionStore, SessionView } from '@askback/client'
import { useMemo, useSyncExternalStore } from 'react'
import { useClient } from './transport-provider.js'

interface Watched<View, Store> {
  view: View
  /** What one can do. */
  store: Store
}

/** One session, kept up to date while the component is mounted. */
export function useSession(sessionId: string): Watched<SessionView, SessionStore> {
  const client = useClient()
  const store = useMemo(() => client.session(sessionId), [client, sessionId])
  return { view: useStore(store), store }
}

/** Everything that waits for a person, in all sessions, oldest first. */
export function useInbox(): Watched<InboxView, InboxStore> {
  const store = useClient().inbox
  return { view: useStore(store), store }
}

/** All sessions, newest first. */
export function useSessions(): Watched<SessionListView, SessionListStore> {
  const store = useClient().sessions
  return { view: useStore(store), store }
}

interface Store<View> {
  subscribe: (listener: () => void) => () => void
  getSnapshot: () => View
}

/** What a store shows, for as long as the component is mounted. */
export function useStore<View>({ subscribe, getSnapshot }: Store<View>): View {
  return useSyncExternalStore(subscribe, getSnapshot, getSnapshot)
}
