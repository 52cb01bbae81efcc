import {
  createClient,
  type Client,
  type ClientOptions,
  type OutboxStorage,
  type Transport,
} from '@askback/client'
import { createContext, use, useEffect, useMemo, type ReactNode } from 'react'
import { followPointer } from './pointer.js'
import { kept } from './kept.js'
import { onNextFrame } from './next-frame.js'
import { forgetOldDrafts } from './use-draft.js'

export interface TransportProviderProps {
  transport: Transport
  /** Read once for each transport. */
  options?: ClientOptions
  /** The id of the person who looks, if it is known: what they decided is shown as theirs ("by you"). */
  personId?: string
  children?: ReactNode
}

const ClientContext = createContext<Client | null>(null)
const ViewerContext = createContext<string | null>(null)

/** Gives everything below it one client, so that all see the same sessions, and answers on their way survive a reload. */
export function TransportProvider({ transport, options, personId, children }: TransportProviderProps) {
  // Only the transport says which client this is: options are mostly written in place, and new each time.
  const client = useMemo(
    () =>
      createClient(transport, {
        storage: outboxStorage,
        scheduleLive: onNextFrame,
        sessionEnded: (sessionId) => kept.write(`composer.${sessionId}`, null),
        ...options,
      }),
    [transport],
  )

  useEffect(() => forgetOldDrafts(Date.now()), [])
  useEffect(() => followPointer(), [])

  useEffect(() => {
    const reconnect = () => client.reconnect()
    const doubt = () => client.doubt()
    window.addEventListener('online', reconnect)
    window.addEventListener('offline', doubt)
    return () => {
      window.removeEventListener('online', reconnect)
      window.removeEventListener('offline', doubt)
    }
  }, [client])

  return (
    <ClientContext value={client}>
      <ViewerContext value={personId ?? null}>{children}</ViewerContext>
    </ClientContext>
  )
}

/** The id of the person who looks; `null` where it is not known. */
export function useViewer(): string | null {
  return use(ViewerContext)
}

export function useClient(): Client {
  const client = use(ClientContext)
  if (!client) throw new Error('There is no TransportProvider above this component.')
  return client
}

export function useTransport(): Transport {
  return useClient().transport
}

const outboxStorage: OutboxStorage = {
  read: () => kept.keys().flatMap((key) => (key.startsWith('outbox.') ? (kept.read(key) ?? []) : [])),
  write: (interactionId, value) => kept.write(`outbox.${interactionId}`, value),
}
