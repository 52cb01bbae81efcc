import {
  createClient,
  HttpTransport,
  WebSocketTransport,
  type Client,
  type ClientOptions,
  type Transport,
} from '@askback/client'
import { createContext, useContext, useEffect, useMemo, type ReactNode } from 'react'
import { CodeHighlighterContext, type CodeHighlighter } from './code-highlighter.js'
import { browserStorage, outboxStorage } from './local-storage.js'
import { TranslateContext, translator, type Labels } from './labels.js'
import { RenderersContext, type Renderers } from './renderers.js'
import { removeOldDrafts } from './use-draft.js'
import { onNextFrame, trackPointer } from './viewport.js'

/** Either a connection of your own, or the address of a gateway. */
type GatewayOrTransport =
  | {
      /** The connection to a gateway or to a desk in the same page. A new object creates a new client. */
      transport: Transport
      url?: never
      token?: never
      webSocket?: never
    }
  | {
      transport?: never
      /**
       * The address of a gateway, such as `https://askback.example.com`.
       *
       * @default the gateway that served this page
       */
      url?: string
      /**
       * A person's token.
       *
       * @default the browser's login at the gateway
       */
      token?: string
      /**
       * Whether the gateway has WebSockets. Pass `false` if it runs in fetch handlers, for example in Next.js: then it streams over HTTP.
       *
       * @default true, and `false` with a token, which a browser cannot send with a WebSocket
       */
      webSocket?: boolean
    }

/** The props of `AskbackProvider`. */
export type AskbackProviderProps = GatewayOrTransport & {
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
   * Components for kinds of your own, or in place of the built-in ones, by the name of the kind. If a component throws, its request is
   * shown as JSON. Define the components outside of your own, so that they are the same on each render.
   *
   * @default the built-in components
   */
  renderers?: Renderers
  /**
   * Texts to show in place of the English ones, by the English text: `{ 'Approve once': 'Einmal erlauben' }`. Define the object outside of
   * your component, because everything is drawn again when it changes.
   *
   * @default the English texts
   */
  labels?: Labels
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
const NO_RENDERERS: Renderers = {}
const NO_LABELS: Labels = {}

/**
 * Provides one client to all components and hooks of this package below it, so that they share connections, and so that
 * answers that are not sent yet survive a reload. It must surround every other component of this package.
 *
 * @example
 * root.render(
 *   <AskbackProvider url="https://askback.example.com" token={token} renderers={{ time_slot: TimeSlot }}>
 *     <Inbox />
 *   </AskbackProvider>,
 * )
 */
export function AskbackProvider(props: AskbackProviderProps) {
  const { transport: given, url, token, webSocket, options, personId, renderers = NO_RENDERERS } = props
  const { labels = NO_LABELS, highlighter = null, children } = props
  const translate = useMemo(() => translator(labels), [labels])
  const transport = useMemo(
    () => given ?? gatewayTransport(url, token, webSocket),
    [given, url, token, webSocket],
  )
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
    <ClientContext.Provider value={client}>
      <ViewerContext.Provider value={personId ?? null}>
        <RenderersContext.Provider value={renderers}>
          <TranslateContext.Provider value={translate}>
            <CodeHighlighterContext.Provider value={highlighter}>{children}</CodeHighlighterContext.Provider>
          </TranslateContext.Provider>
        </RenderersContext.Provider>
      </ViewerContext.Provider>
    </ClientContext.Provider>
  )
}

/** A server that renders the page does not connect, and does not know the address of the page, from which that of a WebSocket derives. */
function gatewayTransport(
  baseUrl: string | undefined,
  token: string | undefined,
  webSocket = token === undefined,
): Transport {
  const options = { ...(baseUrl !== undefined && { baseUrl }), ...(token !== undefined && { token }) }
  const canUseSocket = webSocket && 'WebSocket' in globalThis && 'document' in globalThis
  return canUseSocket ? new WebSocketTransport(options) : new HttpTransport(options)
}

/** The id of the person who uses this page; `null` if it is not known. */
export function useViewer(): string | null {
  return useContext(ViewerContext)
}

/**
 * The client of the nearest `AskbackProvider`. Throws if there is none.
 *
 * @example
 * const client = useClient()
 * return <button onClick={() => client.reconnect()}>Try now</button>
 */
export function useClient(): Client {
  const client = useContext(ClientContext)
  if (!client) throw new Error('There is no AskbackProvider above this component.')
  return client
}

/**
 * The transport of the nearest `AskbackProvider`, for calls that no hook offers. Throws if there is none.
 *
 * @example
 * const transport = useTransport()
 * const session = await transport.create({ agent: 'demo' })
 */
export function useTransport(): Transport {
  return useClient().transport
}
