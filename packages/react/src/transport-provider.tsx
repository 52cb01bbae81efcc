import { createClient, type Client, type ClientOptions, type Transport } from '@askback/client'
import { createContext, use, useEffect, useMemo, type ReactNode } from 'react'
import { CodeHighlighterContext, type CodeHighlighter } from './code-highlighter.js'
import { browserStorage, outboxStorage } from './local-storage.js'
import { removeOldDrafts } from './use-draft.js'
import { onNextFrame, trackPointer } from './viewport.js'

export interface TransportProviderProps {
  /** The connection to a gateway or to a desk in the same page. A new object creates a new client. */
  transport: Transport
  /**
   * Options of the client. They are read when the client is created, and later changes are ignored.
   *
   * @default answers that are not sent yet are stored in `localStorage`
   */
  options?: ClientOptions
  /**
   * The id of the person who uses this page. Their decisions are shown as "by you".
   *
   * @default unknown: all decisions are shown with the name of the person who made them
   */
  personId?: string
  /**
   * Colours the code in messages, plans and requests: `shikiHighlighter` of `@askback/react/highlighting`, or one of your own.
   *
   * @default code is shown without colours
   */
  highlighter?: CodeHighlighter
  children?: ReactNode
}

const ClientContext = createContext<Client | null>(null)
const ViewerContext = createContext<string | null>(null)

/**
 * Provides one client to all components and hooks of this package below it, so that they share connections, and so that
 * answers that are not sent yet survive a reload. It must surround every other component of this package.
 *
 * @example
 * const transport = new WebSocketTransport({ baseUrl: location.origin })
 * root.render(
 *   <TransportProvider transport={transport}>
 *     <Conversation sessionId={sessionId} />
 *   </TransportProvider>,
 * )
 */
export function TransportProvider({
  transport,
  options,
  personId,
  highlighter,
  children,
}: TransportProviderProps) {
  const client = useMemo(
    () =>
      createClient(transport, {
        storage: outboxStorage,
        scheduleLive: onNextFrame,
        sessionEnded: (sessionId) => browserStorage.write(`composer.${sessionId}`, null),
        ...options,
      }),
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- options are mostly an object literal, new on each render
    [transport],
  )

  useEffect(() => removeOldDrafts(Date.now()), [])
  useEffect(() => trackPointer(), [])

  useEffect(() => {
    const reconnect = () => client.reconnect()
    const verifyConnection = () => client.verifyConnection()
    window.addEventListener('online', reconnect)
    window.addEventListener('offline', verifyConnection)
    return () => {
      window.removeEventListener('online', reconnect)
      window.removeEventListener('offline', verifyConnection)
    }
  }, [client])

  return (
    <ClientContext value={client}>
      <ViewerContext value={personId ?? null}>
        <CodeHighlighterContext value={highlighter ?? null}>{children}</CodeHighlighterContext>
      </ViewerContext>
    </ClientContext>
  )
}

/** The id of the person who uses this page; `null` if it is not known. */
export function useViewer(): string | null {
  return use(ViewerContext)
}

/**
 * The client of the nearest `TransportProvider`. Throws if there is none.
 *
 * @example
 * const client = useClient()
 * return <button onClick={() => client.reconnect()}>Try now</button>
 */
export function useClient(): Client {
  const client = use(ClientContext)
  if (!client) throw new Error('There is no TransportProvider above this component.')
  return client
}

/**
 * The transport of the nearest `TransportProvider`, for calls that no hook offers. Throws if there is none.
 *
 * @example
 * const transport = useTransport()
 * const session = await transport.create({ agent: 'demo' })
 */
export function useTransport(): Transport {
  return useClient().transport
}
