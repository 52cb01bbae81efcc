import type { Clock, Host, Store } from '@askback/core'
import { MAX_JSON_DEPTH, type Actor, type Via } from '@askback/protocol'
import type { IncomingMessage } from 'node:http'

/** Whoever opens a stream, as the gateway's own checks see them. */
export interface Caller {
  /** The scope of idempotency keys. */
  readonly credential: string
  /** Identifies the token or login: its streams end when it is revoked. */
  readonly key: string
  /** Set for people, who alone may settle and see all sessions at once. */
  readonly person: { by: Actor; via: Via } | null
  mayRead(sessionId: string): boolean | Promise<boolean>
  /** Before the caller changes anything: throws `unauthorized` if the credential was revoked since. */
  checkStillGood(): Promise<void>
}

/** A page by cookie is a caller only once it has sent its proof: `confirm` throws `unauthorized` for a wrong one. */
export type SocketCaller =
  | { readonly caller: Caller }
  | { readonly key: string; readonly confirm: (proof: string) => Caller }

export interface StreamConfig {
  heartbeatMs: number
  /** How long a socket by cookie may take to send its proof. */
  helloMs: number
  /** Open WebSockets. */
  sockets: number
  /** Open event streams over HTTP. */
  streams: number
  /** The largest frame that a WebSocket takes. */
  frameBytes: number
  /** The deepest JSON in a frame. */
  jsonDepth: number
  /** What may wait for a slow reader before it is cut. */
  bufferBytes: number
  /** What all sessions together keep of older frames, for those that reconnect. */
  cacheBytes: number
}

export const STREAM_DEFAULTS: StreamConfig = {
  heartbeatMs: 15_000,
  helloMs: 10_000,
  sockets: 1000,
  streams: 10_000,
  frameBytes: 4 * 1024 * 1024,
  jsonDepth: MAX_JSON_DEPTH,
  bufferBytes: 1024 * 1024,
  cacheBytes: 32 * 1024 * 1024,
}

export interface StreamOptions {
  host: Host
  store: Store
  /** Host, Origin and credential of a request. Throws what its sender is to be told. */
  authorize: (request: IncomingMessage) => Promise<Caller>
  /** The same for a WebSocket, whose proof comes in its first message. */
  authorizeSocket: (request: IncomingMessage) => Promise<SocketCaller>
  config?: Partial<StreamConfig>
  clock?: Clock
  random?: () => number
  onError: (error: unknown) => void
}
